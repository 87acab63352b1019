package suite

import (
	"net/http"
	"testing"
	"time"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// Kubernetes 1.36 knows its own PodGroups in this version alone, with another word for their condition.
func TestNativePodGroupsAsV1alpha2SpeaksThem(t *testing.T) {
	f := flavour{
		Flavour: objects.NativeAs("v1alpha2"),
		runs:    condition("conditions", "PodGroupScheduled", "True", "Scheduled"),
		waits:   condition("conditions", "PodGroupScheduled", "False", "Unschedulable"),
	}
	onVersion(t, controlplane.Before, f.Name)
	e := in(t, mustered(t, worldOptions{native: true}))
	e.speaksIt(f)
}

// Where v1beta1 is not served Muster reads and writes v1alpha3. Here Kubernetes serves both, and v1beta1 is hidden
// from Muster alone, so that kube-scheduler goes on with what it needs.
func TestNativePodGroupsAsV1alpha3SpeaksThem(t *testing.T) {
	f := flavour{
		Flavour: objects.NativeAs("v1alpha3"),
		runs:    condition("conditions", "PodGroupInitiallyScheduled", "True", "Scheduled"),
		waits:   condition("conditions", "PodGroupInitiallyScheduled", "False", "Unschedulable"),
	}
	onVersion(t, controlplane.Newest, f.Name)
	e := in(t, mustered(t, worldOptions{native: true}))
	startAnew := func() error {
		e.muster.Process.Stop(20 * time.Second)
		return e.muster.Restart(e.ctx)
	}
	hidden := e.proxy.Add(proxy.Fault{Match: proxy.Of("scheduling.k8s.io/v1beta1"), Status: http.StatusNotFound})
	t.Cleanup(func() {
		hidden.Remove()
		if err := startAnew(); err != nil {
			t.Errorf("muster does not start again: %v", err)
		}
	})
	e.must(startAnew())
	e.speaksIt(f)
	if hidden.Hits() == 0 {
		t.Error("Muster has not asked for v1beta1")
	}
}

// speaksIt: reads such PodGroups and says in their words what becomes of the gang.
func (e *env) speaksIt(f flavour) {
	e.t.Helper()
	e.startsAsAGang(f)
	e.delete(e.gang("g", 4, 2))
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.waitsForRoom(f)
}

func onVersion(t *testing.T, version, what string) {
	t.Helper()
	if tested() != version {
		t.Skipf("%s is served by Kubernetes %s alone, and this is %s", what, version, tested())
	}
}
