package table

import (
	"flag"
	"os"
	"testing"
)

var update = flag.Bool("update", false, "write the files that differ")

// Keep fails where the file has another text; with -update it is written. `command` is what writes it, for the message.
func Keep(t *testing.T, file, text, command string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != text {
		t.Errorf("%s is not what the types say: %s", file, command)
	}
}
