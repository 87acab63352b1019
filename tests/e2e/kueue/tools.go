//go:build tools

// Package tools names the controller that holds quota.
package tools

import _ "sigs.k8s.io/kueue/cmd/kueue"
