package main

import "testing"

func TestJavaMajor(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int{
		`openjdk version "17.0.15" 2025-04-15`: 17,
		`java version "1.8.0_392"`:             8,
		`openjdk version "21" 2023-09-19`:      21,
		"java: command not found":              0,
	} {
		if got := javaMajor(text); got != want {
			t.Errorf("%s: %d, want %d", text, got, want)
		}
	}
}
