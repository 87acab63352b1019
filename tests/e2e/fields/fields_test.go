package fields

import (
	"testing"

	"muster.dev/e2e/fields/table"
)

func TestTheTableIsThatOfTheTypes(t *testing.T) {
	table.Keep(t, "../../../config/kubernetes/api.yaml", Table(), "in tests/e2e, go test ./fields -update")
}
