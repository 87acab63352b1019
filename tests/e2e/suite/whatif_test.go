package suite

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sort"
	"strings"
	"testing"
	"time"

	"muster.dev/e2e/audit"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// muster runs a subcommand against the server, and returns what it prints.
func (e *env) cli(args ...string) (string, error) {
	binary, err := muster.Binary()
	if err != nil {
		return "", err
	}
	cmd := exec.CommandContext(e.ctx, binary, append(args, "--server", e.muster.MetricsURL)...)
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("muster %s: %w: %s", strings.Join(args, " "), err, log.String())
	}
	return out.String(), nil
}

// whatIf is what `muster whatif -o json` prints.
type whatIf struct {
	Gangs []struct {
		Name   string `json:"name"`
		Asked  bool   `json:"asked"`
		Starts bool   `json:"starts"`
		Reason struct {
			Code, Message string
		} `json:"reason"`
		Placed []struct {
			Pod, Node string
			GPUs      []int `json:"gpus"`
		} `json:"placed"`
	} `json:"gangs"`
	Evictions []struct{ Name, For string } `json:"evictions"`
	Complete  bool                         `json:"complete"`
}

// asked is a test's question: its answer, after it was checked that nothing changed.
func (e *env) asked(token string, args ...string) whatIf {
	e.t.Helper()
	before := e.settled()
	mark, err := e.audit.Now()
	e.must(err)
	text, err := e.cli(append([]string{"whatif", "-o", "json", "--token-file", token}, args...)...)
	e.must(err)
	var answer whatIf
	e.must(json.Unmarshal([]byte(text), &answer))
	if !answer.Complete {
		e.t.Errorf("it is not complete: %s", text)
	}
	time.Sleep(time.Second) // for what it would have begun
	if after := e.shown(); after != before {
		e.t.Errorf("it changed\n%s\ninto\n%s", before, after)
	}
	writes, err := e.audit.Since(mark)
	e.must(err)
	for kind, n := range writes[audit.Muster] {
		if strings.Contains(kind, " pods") { // what a gang waits for may be told any time
			e.t.Errorf("Muster wrote %s: %d", kind, n)
		}
	}
	return answer
}

// settled is what is shown once it has stayed so for a while: pods of the test before may still go.
func (e *env) settled() string {
	e.t.Helper()
	before := e.shown()
	e.eventually(30*time.Second, "nothing changes any more", func() error {
		time.Sleep(time.Second)
		now := e.shown()
		same := now == before
		before = now
		if !same {
			return errorf("it is now\n%s", now)
		}
		return nil
	})
	return before
}

// shown are the lists of `muster get` without what grows by itself, and the pods.
func (e *env) shown() string {
	e.t.Helper()
	var all strings.Builder
	for _, what := range []string{"gangs", "nodes", "queues"} {
		text, err := e.cli("get", what, "-o", "json")
		e.must(err)
		if what == "gangs" {
			text = e.own(text)
		}
		for _, line := range strings.Split(text, "\n") {
			if !strings.Contains(line, "Seconds") && !strings.Contains(line, "Hours") {
				all.WriteString(line + "\n")
			}
		}
	}
	text, err := e.Kubectl(e.ctx, "", "-n", e.ns, "get", "pods", "--no-headers", "-o",
		"custom-columns=NAME:.metadata.name,VERSION:.metadata.resourceVersion")
	e.must(err)
	return all.String() + text
}

// own is what the list of gangs says of those of the test's namespace: others may still be going.
func (e *env) own(text string) string {
	e.t.Helper()
	var list struct {
		Gangs []map[string]any `json:"gangs"`
	}
	e.must(json.Unmarshal([]byte(text), &list))
	list.Gangs = slices.DeleteFunc(list.Gangs, func(gang map[string]any) bool { return gang["namespace"] != e.ns })
	own, err := json.MarshalIndent(list, "", "  ")
	e.must(err)
	return string(own)
}

// manifest is a file with the gang's objects.
func (e *env) manifest(gangs ...objects.Gang) string {
	e.t.Helper()
	var all bytes.Buffer
	write := func(object any) {
		text, err := json.Marshal(object)
		e.must(err)
		all.Write(text)
		all.WriteString("\n---\n")
	}
	for _, g := range gangs {
		write(g.PodGroup())
		for _, pod := range g.Pods() {
			pod.APIVersion, pod.Kind = "v1", "Pod"
			write(pod)
		}
	}
	return e.file(gangs[0].Name+".yaml", all.String())
}

func (e *env) file(name, text string) string {
	e.t.Helper()
	path := filepath.Join(e.t.TempDir(), name)
	e.must(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// foretold are the places that the answer gives a gang, "POD on NODE with GPUS", and why it waits.
func (w whatIf) foretold(name string) (places []string, waits string) {
	for _, gang := range w.Gangs {
		if gang.Name != name {
			continue
		}
		waits = gang.Reason.Message
		for _, at := range gang.Placed {
			gpus := strings.Trim(strings.ReplaceAll(fmt.Sprint(at.GPUs), " ", ","), "[]")
			places = append(places, fmt.Sprintf("%s on %s with %s", at.Pod, at.Node, gpus))
		}
	}
	sort.Strings(places)
	return places, waits
}

// placed is the same, of the objects.
func (e *env) placed(g objects.Gang) []string {
	e.t.Helper()
	pods, err := e.pods(g)
	e.must(err)
	var places []string
	for _, pod := range pods {
		places = append(places, fmt.Sprintf("%s on %s with %s", pod.Name, pod.Spec.NodeName, pod.Annotations["muster.dev/gpus"]))
	}
	sort.Strings(places)
	return places
}

func (e *env) cameTrue(answer whatIf, g objects.Gang) {
	e.t.Helper()
	e.whole(60*time.Second, g)
	told, _ := answer.foretold(g.Name)
	if is := e.placed(g); fmt.Sprint(told) != fmt.Sprint(is) {
		e.t.Errorf("%s: told was\n%q, and it is\n%q", g.Name, told, is)
	}
}

func TestWhatIfChangesNothingAndWhatItSaysOfAWorkloadComesTrue(t *testing.T) {
	e := withTeams(t)
	token := e.file("token", e.operator("ann"))
	guest := e.teamGang("guest", "guests", 3, 4)
	e.add(guest)
	e.whole(30*time.Second, guest)
	fits := e.teamGang("fits", "guests", 2, 2)
	answer := e.asked(token, "-f", e.manifest(fits))
	if len(answer.Evictions) > 0 {
		t.Errorf("it evicts %v", answer.Evictions)
	}
	e.add(fits)
	e.cameTrue(answer, fits)

	large := e.teamGang("large", "research", 3, 4) // more than the guarantee
	answer = e.asked(token, "-f", e.manifest(large))
	places, told := answer.foretold("large")
	if len(places) > 0 || told == "" {
		t.Errorf("it starts on %q, waits because %q", places, told)
	}
	e.add(large)
	e.waitsFor(large, "NotEnoughGpus")
	if gang, err := e.muster.Gang(e.ns, "large"); err != nil || gang.Reason.Message != told {
		t.Errorf("it waits because %q, and told was %q (%v)", gang.Reason.Message, told, err)
	}
	e.delete(large)

	mine := e.teamGang("mine", "research", 2, 4)
	answer = e.asked(token, "-f", e.manifest(mine))
	var evicts []string
	for _, one := range answer.Evictions {
		evicts = append(evicts, one.Name)
	}
	if len(evicts) == 0 {
		t.Fatalf("it evicts nobody: %+v", answer)
	}
	e.add(mine)
	e.cameTrue(answer, mine)
	for _, g := range []objects.Gang{guest, fits} {
		pods, err := e.pods(g)
		e.must(err)
		if told := strings.Contains(fmt.Sprint(evicts), g.Name); told != (len(pods) == 0) {
			t.Errorf("%s has %d pods, told was that it goes: %t", g.Name, len(pods), told)
		}
	}
}

func TestWhatIfChangesNothingAndWhatItSaysOfAPolicyComesTrue(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.definePriorities()
	e.addGPUNodes(2)
	token := e.file("token", e.operator("ann"))
	old := e.gang("old", 2, 8)
	e.add(old)
	e.whole(30*time.Second, old)
	urgent := e.gang("urgent", 2, 4, objects.WithPriorityClass(urgentClass))
	e.add(urgent)
	e.waitsFor(urgent, "NotEnoughGpus")
	path, err := muster.PolicyPath()
	e.must(err)
	policy, err := os.ReadFile(path)
	e.must(err)
	const field = "preemption: lowerPriority"
	answer := e.asked(token, "--policy", e.file("policy.yaml", string(policy)+"gangs:\n  "+field+"\n"))
	if len(answer.Evictions) != 1 || answer.Evictions[0].Name != "old" {
		t.Fatalf("it evicts %v", answer.Evictions)
	}
	e.runsOn(time.Second, old)
	e.setPolicy(field)
	e.cameTrue(answer, urgent)
	if pods, err := e.pods(old); err != nil || len(pods) > 0 {
		t.Errorf("old has %d pods, %v", len(pods), err)
	}
}

func TestWhatIfIsAnsweredToWhomRBACLets(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	ann, bob := e.operator("ann"), e.account("bob")
	g := e.gang("g", 1, 1)
	file := e.manifest(g)
	for token, words := range map[string]string{
		"":                    "the request to create whatifs.muster.dev does not say who sends it",
		e.file("bob", bob):    "may not create whatifs.muster.dev: bind a Role or ClusterRole",
		e.file("no", "token"): "does not know the bearer token",
	} {
		args := []string{"whatif", "-f", file}
		if token != "" {
			args = append(args, "--token-file", token)
		}
		if _, err := e.cli(args...); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("it is answered with %v, not %q", err, words)
		}
	}
	if status, text := e.order(ann, "/v1/whatif", `{}`); status != http.StatusBadRequest {
		t.Errorf("ann is told %d %s", status, text)
	}
	text, err := e.cli("whatif", "-f", file, "--token-file", e.file("ann", ann))
	if err != nil || !strings.Contains(text, e.ns+"/g") {
		t.Errorf("ann is told %q, %v", text, err)
	}
}
