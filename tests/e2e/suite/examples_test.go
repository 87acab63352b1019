package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"muster.dev/e2e/controlplane"
)

// The pages of frameworks have a section for each framework, and for the samples that are no row of the table. A section has the
// blocks of a walk (walk_test.go). Its first line applies the sample, as the tests do; of the rest its test runs what begins with
// `muster`, and that must print what the section shows. Sections without blocks are for readers alone.

const examplesFolder = "docs/how-to/frameworks"

// More sections, by the samples that they apply; their tests are elsewhere.
const (
	exampleOfSpark    = "Spark (controller played)"
	exampleOfKubeflow = "PyTorchJob whose operator makes PodGroups (played)"
	exampleOfPodGroup = "PodGroup of your own"
)

var examplesApart = map[string]string{
	exampleOfSpark: "spark.yaml", exampleOfKubeflow: "kubeflow.yaml", exampleOfPodGroup: "team.yaml",
}

// examples are the blocks of each section.
func examples(t *testing.T) map[string][]step {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	pages, err := filepath.Glob(filepath.Join(root, examplesFolder, "*.md"))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]step{}
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, section := range strings.Split(string(text), "\n## ")[1:] {
			title, rest, _ := strings.Cut(section, "\n")
			steps, err := stepsOf(rest)
			if err != nil {
				t.Fatalf("%s: %s: %v", page, title, err)
			}
			if len(steps) > 0 && out[title] != nil {
				t.Errorf("%s: there is another example of %q", page, title)
			}
			if len(steps) > 0 {
				out[title] = steps
			}
		}
	}
	return out
}

// shownAsIn fails unless Muster says what that block of the section shows, where the section's namespace is the test's.
func (e *env) shownAsIn(section string, block int) {
	e.t.Helper()
	blocks := examples(e.t)[section]
	if block >= len(blocks) {
		e.t.Fatalf("%s: %q has %d blocks", examplesFolder, section, len(blocks))
	}
	here := strings.NewReplacer("team-a", e.ns)
	var want []string
	for _, line := range blocks[block].want {
		want = append(want, here.Replace(line))
	}
	e.eventually(30*time.Second, "Muster says what "+examplesFolder+" shows of "+section, func() error {
		said := ""
		for _, line := range strings.Split(here.Replace(blocks[block].code), "\n") {
			words, asksMuster := strings.CutPrefix(line, "muster ")
			if !asksMuster {
				continue
			}
			text, err := e.cli(strings.Fields(words)...)
			if err != nil {
				return err
			}
			said += text
		}
		return shows(said, want)
	})
}

func TestEveryFrameworkHasAnExample(t *testing.T) {
	got := examples(t)
	check := func(section, sample string, blocks int) {
		steps := got[section]
		delete(got, section)
		if len(steps) != blocks {
			t.Errorf("%s is to have %d blocks of %q, and has %d", examplesFolder, blocks, section, len(steps))
			return
		}
		for i, s := range steps {
			lines := strings.Split(strings.TrimSuffix(s.code, "\n"), "\n")
			if apply := "kubectl apply -f manifests/samples/" + sample; i == 0 {
				if lines[0] != apply {
					t.Errorf("%s: %q begins with %q, not with %q", examplesFolder, section, lines[0], apply)
				}
				lines = lines[1:]
			}
			if len(lines) == 0 || len(s.want) == 0 {
				t.Errorf("%s: block %d of %q asks or shows nothing", examplesFolder, i, section)
			}
			for _, line := range lines {
				if !strings.HasPrefix(line, "muster ") {
					t.Errorf("%s: nobody runs %q of %q", examplesFolder, line, section)
				}
			}
		}
	}
	for _, f := range frameworks {
		check(f.name, f.example, 2) // while it waits, and when it runs
	}
	for section, sample := range examplesApart {
		check(section, sample, 1)
	}
	for section := range got {
		t.Errorf("%s has a section %q, which no test compares", examplesFolder, section)
	}
}
