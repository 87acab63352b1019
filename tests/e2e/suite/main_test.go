// Package suite holds what Muster must do on real Kubernetes, as tests. Every test makes its own nodes and namespace in
// a control plane that most of them share.
package suite

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"sync"
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

// claims are what this lane and the others have taken of the suite. Lanes are runs of it side by side, each with control planes of its
// own. Tests wait most of their time, so that two lanes take little more than half of the time of one.
var claims = struct {
	sync.Mutex
	folder string // of all lanes: a file for each claim; "" where there is one lane
	mine   map[string]bool
}{folder: os.Getenv("MUSTER_E2E_CLAIMS"), mine: map[string]bool{}}

// claim skips the test where another lane has claimed this part of the suite. cmd/count knows the words.
func claim(t *testing.T, part string) {
	t.Helper()
	if claims.folder == "" {
		return
	}
	claims.Lock()
	defer claims.Unlock()
	if _, known := claims.mine[part]; !known {
		file, err := os.OpenFile(filepath.Join(claims.folder, url.PathEscape(part)), os.O_CREATE|os.O_EXCL, 0o644)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			t.Fatal(err)
		}
		claims.mine[part] = err == nil
		if err == nil {
			file.Close()
		}
	}
	if !claims.mine[part] {
		t.Skip("runs in another lane")
	}
}

func errorf(format string, args ...any) error { return fmt.Errorf(format, args...) }
