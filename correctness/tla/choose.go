package tla

import (
	"context"
	"errors"
	"fmt"
)

// Options say how checkers are looked for.
type Options struct {
	// Want is Auto, TLC or TLAChecker; "" is Auto.
	Want string
	// Offline forbids to download or install anything.
	Offline bool
	// Cache is the folder for downloads; "" is one below the user's cache folder.
	Cache string
	// Say is told what takes time; nil is told nothing.
	Say func(message string)
}

func (o Options) cache() string {
	if o.Cache != "" {
		return o.Cache
	}
	return cacheFolder()
}

func (o Options) say(format string, args ...any) {
	if o.Say != nil {
		o.Say(fmt.Sprintf(format, args...))
	}
}

// Choose finds the checker that is wanted. With Auto that is TLC, else tla-checker; the second result then tells why
// it isn't TLC. The caller closes the checker.
func Choose(ctx context.Context, options Options) (Checker, string, error) {
	switch options.Want {
	case TLC:
		c, err := FindTLC(ctx, options)
		return c, "", err
	case TLAChecker:
		c, err := FindTLAChecker(ctx, options)
		return c, "", err
	case Auto, "":
	default:
		return nil, "", fmt.Errorf("no checker is named %q: use %s, %s or %s", options.Want, Auto, TLC, TLAChecker)
	}
	c, noTLC := FindTLC(ctx, options)
	if noTLC == nil {
		return c, "", nil
	}
	if ctx.Err() != nil {
		return nil, "", noTLC
	}
	c, err := FindTLAChecker(ctx, options)
	if err != nil {
		return nil, "", errors.Join(noTLC, err)
	}
	return c, noTLC.Error(), nil
}
