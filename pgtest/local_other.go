//go:build !unix

package pgtest

import "context"

func findDownload(context.Context, Options) (*Source, []string, error) {
	return nil, []string{"a downloaded server: a private cluster needs a Unix"}, nil
}

func findLocal(context.Context, Options) (*Source, []string, error) {
	return nil, []string{"this machine's programs: a private cluster needs a Unix"}, nil
}
