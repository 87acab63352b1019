//go:build tools

// Package tools names the program that plays nodes and kubelets.
package tools

import _ "sigs.k8s.io/kwok/cmd/kwok"
