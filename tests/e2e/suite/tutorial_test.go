package suite

import (
	"bytes"
	"context"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
)

// docs/tutorials/first-gang.md is done like a walk (walk_test.go), on the embedded cluster: this needs no Kubernetes.
func TestTheTutorialOfAFirstGang(t *testing.T) {
	claim(t, t.Name())
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs/tutorials/first-gang.md"))
	if err != nil {
		t.Fatal(err)
	}
	steps, err := stepsOf(string(text))
	if err != nil || len(steps) == 0 {
		t.Fatalf("%d blocks to run: %v", len(steps), err)
	}
	binary, err := muster.Binary()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "bin"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(binary, filepath.Join(dir, "bin/muster")); err != nil {
		t.Fatal(err)
	}
	pages := freePort(t)
	shell := func(code string) (string, error) {
		ctx, cancel := context.WithTimeout(t.Context(), stepTimeout)
		defer cancel()
		cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", code)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "PATH="+filepath.Join(dir, "bin")+":"+os.Getenv("PATH"), "COLUMNS=400", "MUSTER_SERVER=http://"+pages)
		var said bytes.Buffer
		cmd.Stdout, cmd.Stderr = &said, &said
		err := cmd.Run()
		return said.String(), err
	}
	for i, s := range steps {
		if len(s.parts) > 0 {
			t.Fatalf("line %d: nobody does %q", s.line, s.parts)
		}
		if err := s.run(shell); err != nil {
			t.Fatalf("line %d: %v", s.line, err)
		}
		if i == 0 { // it wrote the nodes; the next terminal serves them
			serve(t, binary, dir, pages)
		}
	}
}

// serve runs the embedded cluster until the test ends.
func serve(t *testing.T, binary, dir, pages string) {
	t.Helper()
	var log bytes.Buffer
	cmd := exec.Command(binary, "serve", "--cluster", "nodes.yaml", "--listen", "127.0.0.1:0", "--metrics", pages)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &log, &log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("muster serve: %s", log.String())
		}
	})
	for deadline := time.Now().Add(startTimeout); ; time.Sleep(100 * time.Millisecond) {
		connection, err := net.Dial("tcp", pages)
		if err == nil {
			connection.Close()
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("muster serve does not listen: %v", err)
		}
	}
}

func freePort(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	return listener.Addr().String()
}
