package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// Gangs by owner, made by the controllers that users have, or as these make them: each framework's sample of the manifests is played from its first
// pod to its end.

// framework is one row of the table.
type framework struct {
	name      string
	operators []string // that run beside Kubernetes' own controllers
	apart     bool     // its CRDs cannot be beside those of the others
	kueue     bool
	example   string                   // of manifests/samples
	change    func(text string) string // to the sample; nil: none
	kinds     []string                 // what is deleted in the end, as kubectl names it
	wants     map[string]size          // by the gang's name without its digest; * stands for what the controller makes up
	gpus      int                      // of all of them together, as many for each; eight of them are free until they start
	restart   func(*play)              // something fails, and its controller does what it does then
	finish    func(*play)
	// makes plays the controller where it cannot run here: it makes of the sample what the controller would. named: that is
	// PodGroups, which the pods name; wants has the names of these.
	makes func(*play)
	named bool
}

type size struct{ pods, minimum int }

// stages are the columns of the table, in the order in which they are played.
var stages = []struct {
	name string
	play func(*play)
}{
	{"grouped", (*play).grouped},
	{"explained", (*play).explained},
	{"started whole", (*play).startedWhole},
	{"restarted", (*play).restarted},
	{"finished", (*play).finished},
}

// play is a framework in a test's part of a control plane.
type play struct {
	*env
	framework
	holder objects.Gang // has the room that the framework needs
}

func TestGangsOfFrameworks(t *testing.T) {
	results := table{}
	for _, f := range frameworks {
		t.Run(f.name, func(t *testing.T) {
			p := f.begin(t)
			p.hold()
			p.apply()
			for _, stage := range stages {
				passed := t.Run(stage.name, func(t *testing.T) {
					whole := p.t
					p.t = t
					defer func() { p.t = whole }()
					results.note(f.name, stage.name, "fails")
					stage.play(p)
					results.note(f.name, stage.name, "yes")
				})
				if !passed { // what comes later builds on it
					break
				}
			}
		})
	}
	if path := os.Getenv("MUSTER_E2E_TABLE"); path != "" && len(results) > 0 {
		if err := results.write(path); err != nil {
			t.Error(err)
		}
		return
	}
	t.Run("the document says what ran", func(t *testing.T) {
		if len(results) == 0 {
			t.Skip("no framework ran: each says above why")
		}
		results.compare(t)
	})
}

// begin starts the controllers, and makes as many nodes as the framework needs.
func (f framework) begin(t *testing.T) *play {
	t.Helper()
	slow(t)
	if tested() != controlplane.Newest {
		t.Skip("controllers of frameworks run beside the newest Kubernetes alone")
	}
	for _, name := range f.operators {
		if !controlplane.HasOperator(name) {
			t.Skipf("%s is not built; tests/e2e/build.sh operators tells why it cannot be", name)
		}
	}
	var e *env
	if f.kueue {
		e = kueueRuns(t)
	} else {
		e = in(t, mustered(t, worldOptions{operators: true, apart: f.apart}))
	}
	for _, name := range f.operators {
		e.must(e.operate(name))
	}
	if f.makes != nil {
		e.definePlayedKinds()
	}
	p := &play{env: e, framework: f}
	p.addGPUNodes(f.gpus / 8)
	return p
}

// hold has another gang take all room but one node.
func (p *play) hold() {
	p.t.Helper()
	p.holder = p.gang("holder", p.gpus/8-1, 8)
	p.add(p.holder)
	p.whole(30*time.Second, p.holder)
}

// operate starts a controller once for the control plane.
func (w *world) operate(name string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if err, started := w.operating[name]; started {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	_, err := w.StartOperator(ctx, name)
	if w.operating == nil {
		w.operating = map[string]error{}
	}
	w.operating[name] = err
	return err
}

// apply creates the sample's objects in the test's namespace. Their pods run until the test ends them.
func (p *play) apply() {
	p.t.Helper()
	root, err := controlplane.Root()
	p.must(err)
	bytes, err := os.ReadFile(filepath.Join(root, "manifests/samples", p.example))
	p.must(err)
	text := strings.ReplaceAll(string(bytes), "team-a", p.ns)
	if p.change != nil {
		text = p.change(text)
	}
	p.t.Cleanup(func() { // before the namespace's pods go, which they would make anew
		for _, kind := range p.kinds {
			if _, err := p.Kubectl(p.ctx, "", "-n", p.ns, "delete", kind, "--all", "--wait=false"); err != nil {
				p.t.Error(err)
			}
		}
	})
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object); err == io.EOF {
			break
		} else if err != nil {
			p.t.Fatal(err)
		}
		if object.GetKind() == "Namespace" {
			continue
		}
		keepRunning(object.Object)
		text, err := object.MarshalJSON()
		p.must(err)
		p.eventually(30*time.Second, "the API server takes "+object.GetKind()+" "+object.GetName(), func() error {
			_, err := p.Kubectl(p.ctx, string(text), "apply", "--server-side", "-f", "-")
			return err
		})
	}
	if p.makes != nil {
		p.makes(p)
	}
}

// keepRunning puts the label of pods that do not end by themselves on every pod template.
func keepRunning(object map[string]any) {
	for _, value := range object {
		switch value := value.(type) {
		case map[string]any:
			keepRunning(value)
		case []any:
			for _, item := range value {
				if item, ok := item.(map[string]any); ok {
					keepRunning(item)
				}
			}
		}
	}
	if _, isPod, err := unstructured.NestedSlice(object, "spec", "containers"); isPod && err == nil {
		if err := unstructured.SetNestedField(object, "runs", "metadata", "labels", objects.KubeletLabel); err != nil {
			panic(err)
		}
	}
}

// members are the framework's pods that have neither ended nor been deleted.
func (p *play) members() ([]corev1.Pod, error) {
	pods, err := p.list(objects.KubeletLabel + "=runs")
	var out []corev1.Pod
	for _, pod := range pods {
		ended := pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
		if pod.DeletionTimestamp == nil && !ended {
			out = append(out, pod)
		}
	}
	return out, err
}

func (p *play) expected() int {
	sum := 0
	for _, gang := range p.wants {
		sum += gang.pods
	}
	return sum
}

// live are the gangs of the framework that are not over, single pods among them.
func (p *play) live() ([]muster.Gang, error) {
	all, err := p.muster.Gangs()
	var out []muster.Gang
	for _, gang := range all {
		if gang.Namespace == p.ns && gang.Name != p.holder.Name && gang.State != "Finished" {
			out = append(out, gang)
		}
	}
	return out, err
}

// asOwned are the live gangs where they are those of the framework, no more and no less, each with all of its pods.
func (p *play) asOwned() ([]muster.Gang, error) {
	got, err := p.live()
	if err != nil {
		return nil, err
	}
	for name, want := range p.wants {
		matching := 0
		for _, gang := range got {
			shown, _, byOwner := strings.Cut(gang.Name, "~")
			prefix, open := strings.CutSuffix(name, "*")
			if byOwner != p.named && (shown == name || open && strings.HasPrefix(shown, prefix)) &&
				gang.Kind == "PodGroup" && gang.Pods-gang.Failed == want.pods && gang.MinMember == want.minimum {
				matching++
			}
		}
		if matching != 1 {
			return nil, errorf("%s is to have %d pods and to need %d of them; there are %s", name, want.pods, want.minimum, show(got))
		}
	}
	if len(got) != len(p.wants) {
		return nil, errorf("%d gangs are to be there: %s", len(p.wants), show(got))
	}
	return got, nil
}

func show(gangs []muster.Gang) string {
	text, err := json.Marshal(gangs)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

func (p *play) grouped() {
	p.t.Helper()
	p.eventually(60*time.Second, "Muster knows the gangs by their owner", func() error {
		_, err := p.asOwned()
		return err
	})
}

// explained: the reason says how many GPUs are needed, and no pod has a node.
func (p *play) explained() {
	p.t.Helper()
	need := fmt.Sprintf("wants %d GPUs", p.gpus/len(p.wants))
	p.eventually(30*time.Second, "it says "+need, func() error {
		got, err := p.asOwned()
		for _, gang := range got {
			if gang.State != "Queued" || gang.Reason.Code != "NotEnoughGpus" || !strings.Contains(gang.Reason.Message, need) {
				return errorf("%s", show(got))
			}
		}
		return err
	})
	p.always(3*time.Second, "no pod has a node", func() error {
		pods, err := p.members()
		if n := countBound(pods); err == nil && n > 0 {
			err = errorf("%d have one", n)
		}
		return err
	})
	p.shownAsIn(p.name, 0)
}

func (p *play) startedWhole() {
	p.t.Helper()
	p.end(p.holder)
	p.eventually(60*time.Second, "all of them start once there is room", p.runs)
	p.always(2*time.Second, "and stay so", p.runs)
	p.shownAsIn(p.name, 1)
}

// runs fails unless every gang runs with all of its pods, and they have all GPUs.
func (p *play) runs() error {
	got, err := p.asOwned()
	if err != nil {
		return err
	}
	for _, gang := range got {
		if gang.State != "Running" || gang.Bound != gang.Pods-gang.Failed {
			return errorf("%s", show(got))
		}
	}
	pods, err := p.members()
	if err != nil {
		return err
	}
	if n := countBound(pods); n != p.expected() || len(pods) != n {
		return errorf("%d of %d pods have a node, and %d are to be there", n, len(pods), p.expected())
	}
	return p.inUse(p.gpus)
}

func (p *play) inUse(gpus int) error {
	free, err := p.muster.Metric("muster_gpu_free")
	if err != nil {
		return err
	}
	capacity, err := p.muster.Metric("muster_gpu_capacity")
	if err == nil && int(capacity-free) != gpus {
		err = errorf("%g of %g GPUs are free, and %d are to be in use", free, capacity, gpus)
	}
	return err
}

func (p *play) restarted() {
	p.t.Helper()
	p.restart(p)
	p.eventually(150*time.Second, "all of it runs again, and nothing of the last attempt counts", p.runs)
	p.always(2*time.Second, "and stays so", p.runs)
}

func (p *play) finished() {
	p.t.Helper()
	p.finish(p)
	p.eventually(60*time.Second, "its gangs are over, and no GPU is in use", func() error {
		got, err := p.live()
		if err == nil && len(got) > 0 {
			err = errorf("%s", show(got))
		}
		if err != nil {
			return err
		}
		return p.inUse(0)
	})
}

// ends has a pod's containers end as a kubelet reports it.
func (p *play) ends(pod corev1.Pod, code int) {
	p.t.Helper()
	phase, reason := "Succeeded", "Completed"
	if code != 0 {
		phase, reason = "Failed", "Error"
	}
	var statuses []string
	for _, container := range pod.Spec.Containers {
		statuses = append(statuses, fmt.Sprintf(`{"name":%q,"image":%q,"imageID":"","ready":false,"restartCount":0,`+
			`"state":{"terminated":{"exitCode":%d,"reason":%q,"finishedAt":%q}}}`,
			container.Name, container.Image, code, reason, time.Now().UTC().Format(time.RFC3339)))
	}
	patch := fmt.Sprintf(`{"status":{"phase":%q,"containerStatuses":[%s]}}`, phase, strings.Join(statuses, ","))
	_, err := p.Client.CoreV1().Pods(p.ns).Patch(p.ctx, pod.Name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, "status")
	p.must(err)
}

// succeed lets every pod end well.
func (p *play) succeed() {
	p.t.Helper()
	pods, err := p.members()
	p.must(err)
	for _, pod := range pods {
		p.ends(pod, 0)
	}
}

// one is the first pod with that label.
func (p *play) one(key, value string) corev1.Pod {
	p.t.Helper()
	pods, err := p.members()
	p.must(err)
	for _, pod := range pods {
		if pod.Labels[key] == value {
			return pod
		}
	}
	p.t.Fatalf("no pod has %s=%s", key, value)
	return corev1.Pod{}
}

// changed waits until as many pods as are meant are others than before, by their UIDs, and the rest are the same.
func (p *play) changed(before []corev1.Pod, others int) {
	p.t.Helper()
	known := map[types.UID]bool{}
	for _, pod := range before {
		known[pod.UID] = true
	}
	p.eventually(150*time.Second, fmt.Sprintf("%d of its pods are new", others), func() error {
		pods, err := p.members()
		kept := 0
		for _, pod := range pods {
			if known[pod.UID] {
				kept++
			}
		}
		if err == nil && (kept != len(before)-others || len(pods) < len(before)) {
			err = errorf("%d of %d pods are from before", kept, len(pods))
		}
		return err
	})
}

func (p *play) deletePod(pod corev1.Pod) {
	p.t.Helper()
	p.must(p.Client.CoreV1().Pods(p.ns).Delete(p.ctx, pod.Name, metav1.DeleteOptions{}))
}

func (p *play) deleteAllOf(kind string) {
	p.t.Helper()
	_, err := p.Kubectl(p.ctx, "", "-n", p.ns, "delete", kind, "--all", "--wait=false")
	p.must(err)
}
