//go:build tools

// Package tools names Karpenter with its KWOK provider, so that go.mod holds what it needs.
package tools

import (
	_ "sigs.k8s.io/karpenter/kwok"
)
