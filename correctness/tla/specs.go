package tla

import (
	"embed"
	"io/fs"
)

//go:embed *.tla *.cfg expectations.json
var embedded embed.FS

// Specs are the modules, their configurations and the table of expectations of this folder, as built into the program.
func Specs() fs.FS { return embedded }
