//go:build tools

// Package tools names the program that tests HTTP/2.
package tools

import _ "github.com/summerwind/h2spec/cmd/h2spec"
