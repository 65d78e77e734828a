//go:build !unix

package pgtest

import "context"

func findLocal(context.Context, Options) (*Source, []string, error) {
	return nil, []string{"this machine's programs: a private cluster needs a Unix"}, nil
}
