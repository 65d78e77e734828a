package tla

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The pinned release of TLC. Its successor, 1.8.0, is built anew on every commit, so that it has no stable checksum.
const (
	tlcVersion = "1.7.4"
	tlcSum     = "936a262061c914694dfd669a543be24573c45d5aa0ff20a8b96b23d01e050e88"
	tlcURL     = "https://github.com/tlaplus/tlaplus/releases/download/v" + tlcVersion + "/tla2tools.jar"
	tlcLimit   = 64 << 20
	tlcFix     = "Set AWA_TLC_JAR to a tla2tools.jar (release " + tlcVersion + " is what this project pins)"
	oldestJava = 11
)

// FindTLC finds TLC: the jar that AWA_TLC_JAR names, else the pinned release in the user's cache, else, unless Offline,
// downloaded into it; and a Java to run it.
func FindTLC(ctx context.Context, options Options) (Checker, error) {
	java, version, err := findJava(ctx)
	if err != nil {
		return nil, &MissingError{TLC, err.Error(), fmt.Sprintf("Install Java %d or later", oldestJava)}
	}
	if jar := os.Getenv("AWA_TLC_JAR"); jar != "" {
		content, err := os.ReadFile(jar)
		if err != nil {
			return nil, &MissingError{TLC, "AWA_TLC_JAR: " + err.Error(), tlcFix}
		}
		return &tlc{java, jar, fmt.Sprintf("TLC, %s, SHA-256 %s, Java %d", jar, sha256Hex(content), version)}, nil
	}
	jar := filepath.Join(options.cache(), "tla2tools-"+tlcVersion+".jar")
	_, err = readPinned(jar, tlcSum)
	switch {
	case err == nil:
	case !errors.Is(err, os.ErrNotExist):
		return nil, err
	case options.Offline:
		return nil, &MissingError{TLC, "its jar isn't in " + filepath.Dir(jar), tlcFix}
	default:
		options.say("downloading TLC %s into %s", tlcVersion, filepath.Dir(jar))
		if err := download(ctx, tlcURL, jar); err != nil {
			return nil, &MissingError{TLC, "it could not be downloaded: " + err.Error(), tlcFix}
		}
	}
	return &tlc{java, jar, fmt.Sprintf("TLC %s, %s, Java %d", tlcVersion, jar, version)}, nil
}

func download(ctx context.Context, url, path string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Minute)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	// A machine without network should be told so soon.
	transport := &http.Transport{
		Proxy:                 http.ProxyFromEnvironment,
		DialContext:           (&net.Dialer{Timeout: 5 * time.Second}).DialContext,
		TLSHandshakeTimeout:   5 * time.Second,
		ResponseHeaderTimeout: 20 * time.Second,
	}
	defer transport.CloseIdleConnections()
	response, err := (&http.Client{Transport: transport}).Do(request)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, response.Body.Close()) }()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", url, response.Status)
	}
	return keepPinned(path, tlcSum, response.Body, tlcLimit)
}

var javaVersion = regexp.MustCompile(`version "(?:1\.)?(\d+)`)

// findJava looks in JAVA_HOME and PATH, and asks what it finds for its version, since an old one fails in odd ways.
func findJava(ctx context.Context) (path string, version int, err error) {
	path, err = exec.LookPath("java")
	if home := os.Getenv("JAVA_HOME"); home != "" {
		path, err = exec.LookPath(filepath.Join(home, "bin", "java"))
	}
	if err != nil {
		return "", 0, fmt.Errorf("no Java: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	out, err := exec.CommandContext(ctx, path, "-version").CombinedOutput()
	if err != nil {
		return "", 0, fmt.Errorf("%s -version: %w", path, err)
	}
	m := javaVersion.FindSubmatch(out)
	if m == nil {
		return "", 0, fmt.Errorf("%s -version says %q", path, strings.TrimSpace(string(out)))
	}
	if version, err = strconv.Atoi(string(m[1])); err != nil || version < oldestJava {
		return "", 0, fmt.Errorf("%s is Java %s, and TLC needs %d or later", path, m[1], oldestJava)
	}
	return path, version, nil
}
