package pgtest

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFindNothing(t *testing.T) {
	t.Parallel()
	empty := t.TempDir()
	_, err := Find(t.Context(), Options{Local: true, BinDir: empty})
	if !errors.Is(err, ErrNoServer) {
		t.Fatalf("got %v, want ErrNoServer", err)
	}
	for _, part := range []string{empty, "apt-get install", EnvDSN} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("the error doesn't say %q:\n%v", part, err)
		}
	}
}

func TestFindPassesOverWhatWillNotDo(t *testing.T) {
	t.Setenv(EnvMajor, "") // whoever runs the tests on one version asks for none here: the programs below say others
	for name, c := range map[string]struct{ says, want string }{
		"too old":     {"postgres (PostgreSQL) 14.9", "14.9 is older than 15"},
		"unreadable":  {"something else", "something else"},
		"good":        {"postgres (PostgreSQL) 17.2", ""},
		"development": {"postgres (PostgreSQL) 19devel", ""},
	} {
		dir := openPlace(t)
		program(t, filepath.Join(dir, "postgres"), "echo '"+c.says+"'")
		if _, err := Find(t.Context(), Options{Local: true, BinDir: dir}); err == nil || !strings.Contains(err.Error(), "no initdb") {
			t.Errorf("%s: got %v, want the missing initdb", name, err)
		}
		program(t, filepath.Join(dir, "initdb"), "exit 1")
		source, err := Find(t.Context(), Options{Local: true, BinDir: dir})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v", name, err)
		case c.want == "" && !strings.Contains(source.Describe(), dir):
			t.Errorf("%s: Describe doesn't name the folder: %s", name, source.Describe())
		case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: got %v, want %q", name, err, c.want)
		}
	}
}

func program(t *testing.T, path, script string) {
	t.Helper()
	if err := os.WriteFile(path, []byte("#!/bin/sh\n"+script+"\n"), 0o755); err != nil {
		t.Fatal(err)
	}
}

func TestFindUnreachable(t *testing.T) {
	t.Parallel()
	closed, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := closed.Addr().String()
	if err := closed.Close(); err != nil {
		t.Fatal(err)
	}
	for dsn, want := range map[string]string{
		"postgres://someone:secret@" + address + "/there": "database there, user someone",
		"postgres://someone:secret@h:notaport/there":      "can't be read",
		"host=/nowhere password=secret dbname=there":      "/nowhere",
	} {
		_, err := Find(t.Context(), Options{DSN: dsn})
		if !errors.Is(err, ErrUnreachable) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "Options.DSN") {
			t.Errorf("%s: got %v, want ErrUnreachable that says %q and where the DSN is from", dsn, err, want)
		}
		if err != nil && strings.Contains(err.Error(), "secret") {
			t.Errorf("the error shows the password: %v", err)
		}
	}
}

func TestFindTakesTheEnvironment(t *testing.T) {
	t.Setenv(EnvDSN, shared.TCPDSN())
	source, err := Find(t.Context(), Options{})
	if err != nil {
		t.Fatal(err)
	}
	if source.Kind != KindDSN || source.HasProcess() || !strings.Contains(source.Describe(), EnvDSN) {
		t.Errorf("found %s (%s)", source.Describe(), source.Kind)
	}
	if strings.Contains(source.Describe(), shared.back.(*cluster).password) {
		t.Error("Describe shows the password")
	}
	// One of this machine's, and where it has none of the version that is asked for, one of those that follow.
	source, err = Find(t.Context(), Options{Local: true})
	if err != nil || !source.HasProcess() || (shared.Kind() == KindLocal) != (source.Kind == KindLocal) {
		t.Errorf("Options.Local found %s, %v", source.Kind, err)
	}
}

func TestOptionsRefused(t *testing.T) {
	t.Parallel()
	for value, opts := range map[string]Options{
		"lots":   {SharedBuffers: "lots"},
		"-1":     {MaxConnections: -1},
		"-1ns":   {StartTimeout: -1},
		"a b":    {Settings: map[string]string{"a b": "1"}},
		"x=1\n2": {Settings: map[string]string{"x": "1\n2"}},
	} {
		var input *InputError
		if _, err := Start(t.Context(), opts); !errors.As(err, &input) || input.Value != value {
			t.Errorf("%+v: got %v, want an *InputError that names %q", opts, err, value)
		}
	}
	var input *InputError
	if _, err := (Source{}).Start(t.Context()); !errors.As(err, &input) {
		t.Errorf("the zero Source: got %v, want an *InputError", err)
	}
	if _, err := shared.Pool(t.Context(), 0); !errors.As(err, &input) {
		t.Errorf("a pool of 0: got %v, want an *InputError", err)
	}
	if _, err := shared.NewSchemas(t.Context(), nil, 0); !errors.As(err, &input) {
		t.Errorf("0 schemas ahead: got %v, want an *InputError", err)
	}
}

func TestParseVersion(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]Version{
		"postgres (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)": 150013,
		"postgres (PostgreSQL) 18.0":                           180000,
		"postgres (PostgreSQL) 18beta1":                        180000,
		"postgres (PostgreSQL) 9.6.24":                         90006,
	} {
		if got, err := parseVersion(text); got != want || err != nil {
			t.Errorf("%s: got %d, %v, want %d", text, got, err, want)
		}
	}
	if Version(150013).String() != "15.13" || Version(150013).Major() != 15 {
		t.Error("150013 isn't 15.13")
	}
}
