// Package suite holds what Muster must do on real Kubernetes, as tests. Every test makes its own nodes and namespace in
// a control plane that most of them share.
package suite

import (
	"fmt"
	"os"
	"testing"
)

// full adds what is slow, and the older Kubernetes.
var full = os.Getenv("MUSTER_E2E") == "full"

func TestMain(m *testing.M) {
	code := m.Run()
	stopWorlds()
	os.Exit(code)
}

// slow leaves a test to the full run, and says so.
func slow(t *testing.T) {
	t.Helper()
	if !full {
		t.Skip("slow: make e2e-full runs it")
	}
}

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }
