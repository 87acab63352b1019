package suite

import (
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/e2e/audit"
	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// flavour is a kind of PodGroup and what its ecosystem reads in its status.
type flavour struct {
	objects.Flavour
	native bool                                   // and served by the newest Kubernetes alone
	runs   func(*unstructured.Unstructured) error // all four members run
	waits  func(*unstructured.Unstructured) error // there is no room
}

var flavours = []flavour{
	{Flavour: objects.Plugins, runs: pluginsRun, waits: pluginsWait},
	{Flavour: objects.Label, runs: pluginsRun, waits: pluginsWait},
	{
		Flavour: objects.Volcano,
		runs: allOf(field("Running", "phase"), number(4, "running"),
			condition("conditions", "Scheduled", "True", "")),
		// Volcano leaves a group that was let in Inqueue while there is no room.
		waits: allOf(field("Pending Inqueue", "phase"), condition("conditions", "Unschedulable", "True", "NotEnoughResources")),
	},
	{
		Flavour: objects.KAI,
		runs:    allOf(field("Running", "phase"), number(4, "running")),
		waits:   allOf(field("Pending", "phase"), condition("schedulingConditions", "UnschedulableOnNodePool", "", "")),
	},
	{
		Flavour: objects.Native, native: true,
		runs:  condition("conditions", "PodGroupInitiallyScheduled", "True", "Scheduled"),
		waits: condition("conditions", "PodGroupInitiallyScheduled", "False", "Unschedulable"),
	},
	{Flavour: objects.PodsOnly},
	// Its operator writes the status.
	{Flavour: objects.Grove},
}

var (
	pluginsRun  = allOf(field("Running", "phase"), number(4, "running"), condition("conditions", "Scheduled", "True", "Scheduled"))
	pluginsWait = allOf(field("Pending", "phase"), condition("conditions", "Scheduled", "False", ""))
)

func TestEveryFlavourOfPodGroupStartsAsAGangAndSaysSoInItsOwnWords(t *testing.T) {
	for _, f := range flavours {
		t.Run(strings.ReplaceAll(f.Name, "/", "_"), func(t *testing.T) {
			f.served(t)
			e := in(t, mustered(t, worldOptions{native: f.native}))
			e.defineForeignPodGroups()
			e.startsAsAGang(f)
		})
	}
}

func (e *env) startsAsAGang(f flavour) {
	e.t.Helper()
	e.addGPUNodes(1)
	g := e.gang("g", 4, 2)
	g.Flavour = f.Flavour
	e.addGroup(g)
	for i := range 3 {
		e.addPods(g.Pod(i))
	}
	e.always(3*time.Second, "three of four hold nothing", func() error {
		if n := e.bound(g); n > 0 {
			return errorf("%d are bound", n)
		}
		return nil
	})
	e.addPods(g.Pod(3))
	e.whole(30*time.Second, g)
	e.saysSo(g, f.runs)
}

func TestEveryFlavourOfPodGroupSaysInItsOwnWordsThatThereIsNoRoom(t *testing.T) {
	for _, f := range flavours {
		if f.waits == nil {
			continue
		}
		t.Run(strings.ReplaceAll(f.Name, "/", "_"), func(t *testing.T) {
			f.served(t)
			e := in(t, mustered(t, worldOptions{native: f.native}))
			e.defineForeignPodGroups()
			e.addGPUNodes(2)
			e.waitsForRoom(f)
		})
	}
}

// waitsForRoom needs two nodes of eight GPUs, all of them free.
func (e *env) waitsForRoom(f flavour) {
	e.t.Helper()
	holder := e.gang("holder", 2, 8)
	e.add(holder)
	e.whole(30*time.Second, holder)
	g := e.gang("waits", 4, 4)
	g.Flavour = f.Flavour
	e.add(g)
	e.saysSo(g, f.waits)
	if n := e.bound(g); n > 0 {
		e.t.Errorf("%d members are bound", n)
	}
	e.end(holder)
	e.whole(30*time.Second, g)
	e.saysSo(g, f.runs)
}

// served leaves out what this Kubernetes does not serve, and says so.
func (f flavour) served(t *testing.T) {
	t.Helper()
	if f.native {
		onVersion(t, controlplane.Newest, f.Name)
	}
}

// There is no object whose status could say it: the first pod is described with it.
func TestAGangGivenByItsPodsAloneSaysOnOneOfThemWhyItWaits(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	holder := e.gang("holder", 1, 8)
	e.add(holder)
	e.whole(30*time.Second, holder)
	g := e.gang("g", 4, 4)
	g.Flavour = objects.PodsOnly
	e.add(g)
	first := g.Pod(0).Name
	e.eventually(30*time.Second, "its first pod says that it waits", func() error {
		description, err := e.Kubectl(e.ctx, "", "--namespace", g.Namespace, "describe", "pod", first)
		if err != nil {
			return err
		}
		if !strings.Contains(description, "gang "+g.Namespace+"/"+g.Name+": ") {
			return errorf("not in its description:\n%s", description)
		}
		return nil
	})
	e.end(holder)
}

// A native group is looked at again and again before its members are bound; none of that may cost a write.
func TestANativeGangThatIsAskedAboutRepeatedlyIsPlannedOnce(t *testing.T) {
	e := in(t, mustered(t, worldOptions{native: true}))
	e.addGPUNodes(8)
	g := e.gang("g", 64, 1)
	g.Flavour = objects.Native
	if tested() == controlplane.Before {
		g.Flavour = objects.NativeAs("v1alpha2")
	}
	mark, err := e.audit.Now()
	e.must(err)
	e.add(g)
	e.whole(60*time.Second, g)
	time.Sleep(time.Second) // until the log is written
	writes, err := e.audit.Since(mark)
	e.must(err)
	most := 64
	if tested() == controlplane.Before {
		// That kube-scheduler turns down single members while it has not seen all of the group; each is nominated and asked for
		// once more.
		most += writes[audit.MusterScheduler]["patch pods/status"]
	}
	for kind, most := range map[string]int{"create pods/binding": 64, "patch pods/status": most, "patch pods": most} {
		if n := writes[audit.Muster][kind]; n > most {
			t.Errorf("%d times %q for 64 members: %s", n, kind, writes[audit.Muster])
		}
	}
}

func (e *env) defineForeignPodGroups() {
	e.t.Helper()
	text, err := os.ReadFile("testdata/podgroups.yaml")
	e.must(err)
	_, err = e.Kubectl(e.ctx, string(text), "apply", "-f", "-")
	e.must(err)
	_, err = e.Kubectl(e.ctx, "", "wait", "--for=condition=Established", "--timeout=30s",
		"crd/podgroups.scheduling.volcano.sh", "crd/podgroups.scheduling.run.ai", "crd/podgangs.scheduler.grove.io")
	e.must(err)
}

func (e *env) saysSo(g objects.Gang, check func(*unstructured.Unstructured) error) {
	e.t.Helper()
	if check == nil {
		return
	}
	e.eventually(30*time.Second, "the PodGroup's status says so", func() error {
		group, err := e.Dynamic.Resource(g.GroupResource()).Namespace(g.Namespace).Get(e.ctx, g.Name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		return check(group)
	})
}

type statusCheck = func(*unstructured.Unstructured) error

func allOf(checks ...statusCheck) statusCheck {
	return func(group *unstructured.Unstructured) error {
		for _, check := range checks {
			if err := check(group); err != nil {
				return err
			}
		}
		return nil
	}
}

// field wants one of the given words.
func field(want, name string) statusCheck {
	return func(group *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedString(group.Object, "status", name); !slices.Contains(strings.Fields(want), got) {
			return errorf("status.%s is %q instead of %q: %v", name, got, want, group.Object["status"])
		}
		return nil
	}
}

func number(want int64, name string) statusCheck {
	return func(group *unstructured.Unstructured) error {
		if got, _, _ := unstructured.NestedInt64(group.Object, "status", name); got != want {
			return errorf("status.%s is %d instead of %d: %v", name, got, want, group.Object["status"])
		}
		return nil
	}
}

// condition wants one of this type; an empty status or reason may be any.
func condition(list, kind, status, reason string) statusCheck {
	return func(group *unstructured.Unstructured) error {
		items, _, _ := unstructured.NestedSlice(group.Object, "status", list)
		for _, item := range items {
			c, _ := item.(map[string]any)
			if c["type"] == kind && (status == "" || c["status"] == status) && (reason == "" || c["reason"] == reason) {
				return nil
			}
		}
		return errorf("no %s %s %s in status.%s: %v", kind, status, reason, list, group.Object["status"])
	}
}
