package fields

import (
	"testing"

	"muster.dev/e2e/fields/table"
)

func TestTheTableOfFrameworksIsThatOfTheTypes(t *testing.T) {
	table.Keep(t, "../../../../config/kubernetes/frameworks.yaml", Table(),
		"in tests/e2e/operators, go test -mod=mod ./fields -update")
}
