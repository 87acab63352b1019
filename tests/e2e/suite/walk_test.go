package suite

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// A walk is a document of docs/walks that is done word by word: what stands in its ```sh blocks is run, in one folder with a copy of
// the manifests, and what a ```text block after it shows must be printed, line by line, where … stands for anything. An HTML
// comment before a block tells the test what a cluster does by itself:
//
//	<!-- e2e: WORDS -->          the test's part of that name is done first
//	<!-- e2e: fails -->          the block ends with a status other than 0
//	<!-- e2e: within 7m -->      what is shown may take so long to come; else a minute and a half
type walk struct {
	*env
	images *images
	dir    string
	parts  map[string]func()
}

// step is one block that is run.
type step struct {
	line   int
	parts  []string
	fails  bool
	within time.Duration
	code   string
	want   []string
}

const (
	stepTimeout = 3 * time.Minute
	shownWithin = 90 * time.Second
)

// walks is a control plane of that version on which walks are done, with nodes on which Muster's own pods run.
func walks(t *testing.T) *walk {
	t.Helper()
	w := bare(t, worldOptions{walk: true})
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.images == nil {
		var err error
		if w.images, err = startImages(w); err != nil {
			t.Fatal(err)
		}
	}
	e := in(t, w)
	for _, node := range objects.Nodes("system", 2, 0) {
		if _, err := e.Client.CoreV1().Nodes().Create(e.ctx, node, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
			e.must(err)
		}
	}
	k := &walk{env: e, images: w.images, dir: t.TempDir(), parts: map[string]func(){}}
	root, err := controlplane.Root()
	e.must(err)
	e.must(os.CopyFS(filepath.Join(k.dir, "manifests"), os.DirFS(filepath.Join(root, "manifests"))))
	e.must(os.Chmod(filepath.Join(k.dir, "manifests/certificates/make-secrets.sh"), 0o755))
	kubectl, err := controlplane.Program(w.Options.Version, "kubectl")
	e.must(err)
	binary, err := muster.Binary()
	e.must(err)
	e.must(os.Mkdir(filepath.Join(k.dir, "bin"), 0o755))
	e.must(os.Symlink(kubectl, filepath.Join(k.dir, "bin/kubectl")))
	e.must(os.Symlink(binary, filepath.Join(k.dir, "bin/muster")))
	t.Cleanup(k.leave)
	t.Cleanup(func() {
		if trouble := k.images.trouble(); t.Failed() && trouble != "" {
			t.Logf("Muster's pods: %s", trouble)
		}
	})
	return k
}

// do walks the document from its beginning to its end.
func (k *walk) do(document string) {
	k.t.Helper()
	root, err := controlplane.Root()
	k.must(err)
	text, err := os.ReadFile(filepath.Join(root, "docs/walks", document))
	k.must(err)
	steps, err := stepsOf(string(text))
	k.must(err)
	if len(steps) == 0 {
		k.t.Fatalf("%s has no block to run", document)
	}
	done := map[string]bool{}
	for _, s := range steps {
		for _, part := range s.parts {
			if k.parts[part] == nil {
				k.t.Fatalf("%s:%d: the test has no part %q", document, s.line, part)
			}
			k.parts[part]()
			done[part] = true
		}
		if err := k.step(s); err != nil {
			k.t.Fatalf("%s:%d: %v", document, s.line, err)
		}
	}
	for part := range k.parts {
		if !done[part] {
			k.t.Errorf("%s does not need %q", document, part)
		}
	}
}

func (k *walk) step(s step) error { return s.run(k.shell) }

// run tries the block until it shows what it is to show.
func (s *step) run(shell func(code string) (string, error)) error {
	for deadline := time.Now().Add(s.within); ; time.Sleep(time.Second) {
		said, err := shell(s.code)
		if (err != nil) != s.fails {
			err = fmt.Errorf("it is to end with another status than %v:\n%s\n%s", err, s.code, said)
		} else if err = shows(said, s.want); err == nil {
			return nil
		}
		if len(s.want) == 0 || time.Now().After(deadline) {
			return err
		}
	}
}

// shell runs a block as a person would, with that person's kubeconfig, and returns all that is printed.
func (k *walk) shell(code string) (string, error) {
	ctx, cancel := context.WithTimeout(k.ctx, stepTimeout)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", code)
	cmd.Dir = k.dir
	cmd.Env = append(os.Environ(), "PATH="+filepath.Join(k.dir, "bin")+":"+os.Getenv("PATH"), "HOME="+k.dir,
		"KUBECONFIG="+k.Kubeconfig, "KUBECACHEDIR="+filepath.Join(k.dir, "cache"), "COLUMNS=400",
		fmt.Sprintf("MUSTER_SERVER=http://127.0.0.1:%d", k.images.pages.Port))
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	return said.String(), err
}

var directive = regexp.MustCompile(`^<!-- e2e: (.*) -->$`)

// stepsOf reads a document.
func stepsOf(text string) ([]step, error) {
	var steps []step
	next := step{within: shownWithin}
	lines := bufio.NewScanner(strings.NewReader(text))
	fence, shown := "", false // shown: nothing but empty lines since the last step
	for n := 1; lines.Scan(); n++ {
		line := strings.TrimRight(lines.Text(), " ")
		if fence != "" {
			switch {
			case line == "```":
				if fence == "sh" {
					steps, next, shown = append(steps, next), step{within: shownWithin}, true
				}
				fence = ""
			case fence == "sh":
				next.code += line + "\n"
			case fence == "text" && shown:
				last := &steps[len(steps)-1]
				last.want = append(last.want, line)
			}
			continue
		}
		if words := directive.FindStringSubmatch(line); words != nil {
			if err := next.tell(words[1]); err != nil {
				return nil, fmt.Errorf("line %d: %w", n, err)
			}
			continue
		}
		if kind, begins := strings.CutPrefix(line, "```"); begins {
			fence = kind
			if fence == "sh" {
				next.line = n
			} else if fence == "" {
				fence = "nothing" // is shown to readers alone
			}
			continue
		}
		if line != "" {
			shown = false
		}
	}
	return steps, lines.Err()
}

func (s *step) tell(words string) error {
	if limit, ok := strings.CutPrefix(words, "within "); ok {
		var err error
		s.within, err = time.ParseDuration(limit)
		return err
	}
	if words == "fails" {
		s.fails = true
		return nil
	}
	s.parts = append(s.parts, words)
	return nil
}

var spaces = regexp.MustCompile(`\s+`)

// shows fails unless the text has lines like the wanted ones, in their order. Spaces count as one, and empty lines not at all.
func shows(text string, want []string) error {
	rest := strings.Split(spaces.ReplaceAllStringFunc(text, oneSpace), "\n")
	for _, line := range want {
		if line == "" {
			continue
		}
		pattern := strings.ReplaceAll(regexp.QuoteMeta(strings.TrimSpace(spaces.ReplaceAllString(line, " "))), "…", ".*")
		matches := regexp.MustCompile("^ ?" + pattern + " ?$")
		found := false
		for len(rest) > 0 && !found {
			found = matches.MatchString(rest[0])
			rest = rest[1:]
		}
		if !found {
			return fmt.Errorf("it is to show, in this order, the line\n%s\nand says\n%s", line, text)
		}
	}
	return nil
}

// oneSpace keeps the ends of lines.
func oneSpace(space string) string {
	if strings.Contains(space, "\n") {
		return "\n"
	}
	return " "
}

func TestAWalkIsReadAsItIsWritten(t *testing.T) {
	const fence = "```"
	steps, err := stepsOf("# Title\n\n" + fence + "\nnot run\n" + fence + "\n<!-- e2e: night comes -->\n<!-- e2e: within 2m -->\n" + fence +
		"sh\na\nb\n" + fence + "\n\n" + fence + "text\nx … z\n" + fence + "\nwords\n<!-- e2e: fails -->\n" + fence + "sh\nc\n" + fence +
		"\nwords\n" + fence + "text\nof nobody\n" + fence + "\n")
	if err != nil {
		t.Fatal(err)
	}
	want := []step{
		{line: 8, parts: []string{"night comes"}, within: 2 * time.Minute, code: "a\nb\n", want: []string{"x … z"}},
		{line: 18, fails: true, within: shownWithin, code: "c\n"},
	}
	if got := fmt.Sprint(steps); got != fmt.Sprint(want) {
		t.Errorf("it is read as\n%s\ninstead of\n%s", got, fmt.Sprint(want))
	}
	for _, c := range []struct {
		said  string
		shown bool
	}{{"first\n x  y z\n", true}, {"x y\nz\n", false}, {"x z\n", false}} {
		if err := shows(c.said, []string{"", "x … z"}); (err == nil) != c.shown {
			t.Errorf("%q: %v", c.said, err)
		}
	}
}
