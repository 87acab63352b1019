package workflows

import (
	"testing"

	"muster.dev/e2e/fields/table"
)

func TestTheTableOfWorkflowsIsThatOfTheTypes(t *testing.T) {
	table.Keep(t, "../../../../config/kubernetes/workflows.yaml", Table(),
		"in tests/e2e/fields/workflows, go test . -update")
}
