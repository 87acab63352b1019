package fields

import (
	"flag"
	"os"
	"testing"
)

const file = "../../../../config/kubernetes/frameworks.yaml"

var update = flag.Bool("update", false, "write "+file)

func TestTheTableIsThatOfTheTypes(t *testing.T) {
	want := Table()
	if *update {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Error(file + " is not what the types say: in tests/e2e/operators, go test -mod=mod ./fields -update")
	}
}
