package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"muster.dev/e2e/controlplane"
)

// table has the results of the stages by framework and stage.
type table map[string]map[string]string

const (
	tableDocument = "docs/reference/framework-tests.md"
	tableBegin    = "<!-- results: MUSTER_E2E_TABLE of tests/e2e/run.sh -->\n\n"
	tableEnd      = "\n<!-- end of results -->\n"
)

func (r table) note(framework, stage, result string) {
	if r[framework] == nil {
		r[framework] = map[string]string{}
	}
	r[framework][stage] = result
}

// row is a framework's line; what did not run is a question.
func (r table) row(name string) string {
	line := "| " + name + " |"
	for _, stage := range stages {
		result := r[name][stage.name]
		if result == "" {
			result = "not run"
		}
		line += " " + result + " |"
	}
	return line + "\n"
}

func (r table) markdown() string {
	head, rule := "| |", "|---|"
	for _, stage := range stages {
		head += " " + stage.name + " |"
		rule += "---|"
	}
	text := head + "\n" + rule + "\n"
	for _, f := range frameworks {
		text += r.row(f.name)
	}
	return text
}

// write puts the table into that file: in place of the one that it has, or as all of it.
func (r table) write(path string) error {
	if !filepath.IsAbs(path) {
		root, err := controlplane.Root()
		if err != nil {
			return err
		}
		path = filepath.Join(root, path)
	}
	text := r.markdown()
	if old, err := os.ReadFile(path); err == nil {
		if before, after, found := cutTable(string(old)); found {
			text = before + tableBegin + text + tableEnd + after
		}
	}
	return os.WriteFile(path, []byte(text), 0o644)
}

func cutTable(text string) (before, after string, found bool) {
	before, rest, begins := strings.Cut(text, tableBegin)
	_, after, ends := strings.Cut(rest, tableEnd)
	return before, after, begins && ends
}

func readDocument(t *testing.T) string {
	t.Helper()
	root, err := controlplane.Root()
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, tableDocument))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// compare fails where the document says something else than what ran.
func (r table) compare(t *testing.T) {
	t.Helper()
	text := readDocument(t)
	for _, f := range frameworks {
		if _, ran := r[f.name]; ran && !strings.Contains(text, r.row(f.name)) {
			t.Errorf("%s does not say %s", tableDocument, strings.TrimSpace(r.row(f.name)))
		}
	}
}

// That its page has its sample is in examples_test.go.
func TestEveryFrameworkIsInTheDocument(t *testing.T) {
	text := readDocument(t)
	before, after, found := cutTable(text)
	if !found {
		t.Fatalf("%s has no table of results", tableDocument)
	}
	results := strings.TrimSuffix(strings.TrimPrefix(text, before+tableBegin), tableEnd+after)
	if rows := strings.Count(results, "\n") - 2; rows != len(frameworks) {
		t.Errorf("its table of results has %d rows, and there are %d frameworks", rows, len(frameworks))
	}
	for _, f := range frameworks {
		if !strings.Contains(results, "| "+f.name+" |") {
			t.Errorf("its table of results has no row for %s", f.name)
		}
	}
}
