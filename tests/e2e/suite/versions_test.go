package suite

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"muster.dev/e2e/controlplane"
)

const versionsDocument = "docs/reference/compatibility.md"

// What the document says that tests run on is what build.sh builds.
func TestTheDocumentsNameTheVersionsThatTestsRunOn(t *testing.T) {
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, versionsDocument))
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ begins, folder, module string }{
		{"| Kubernetes | ", "kubernetes/" + controlplane.Newest, "k8s.io/kubernetes"},
		{"| | ", "kubernetes/" + controlplane.Before, "k8s.io/kubernetes"},
		{"| | ", "kubernetes/" + controlplane.Older, "k8s.io/kubernetes"},
		{"| Kueue | ", "kueue", "sigs.k8s.io/kueue"},
		{"| JobSet | ", "operators", "sigs.k8s.io/jobset"},
		{"| LeaderWorkerSet | ", "operators", "sigs.k8s.io/lws"},
		{"| Kubeflow training operator | ", "operators", "github.com/kubeflow/training-operator"},
		{"| Kubeflow trainer | ", "operators", "github.com/kubeflow/trainer/v2"},
		{"| mpi-operator | ", "operators", "github.com/kubeflow/mpi-operator"},
		{"| KubeRay | ", "operators", "github.com/ray-project/kuberay/ray-operator"},
		{"| AppWrapper | ", "operators", "github.com/project-codeflare/appwrapper"},
		{"| KWOK | ", "kwok", "sigs.k8s.io/kwok"},
		{"| Karpenter | ", "karpenter", "sigs.k8s.io/karpenter"},
	} {
		mod, err := os.ReadFile(filepath.Join(root, "tests/e2e", row.folder, "go.mod"))
		if err != nil {
			t.Fatal(err)
		}
		version := regexp.MustCompile(`(?m)\b` + regexp.QuoteMeta(row.module) + ` v([0-9.]+)$`).FindSubmatch(mod)
		if version == nil {
			t.Errorf("%s/go.mod names no version of %s", row.folder, row.module)
			continue
		}
		if want := "\n" + row.begins + string(version[1]) + " |"; !strings.Contains(string(text), want) {
			t.Errorf("%s has no row %q", versionsDocument, want)
		}
	}
}
