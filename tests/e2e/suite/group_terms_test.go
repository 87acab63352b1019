package suite

import (
	"testing"
	"time"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// evicted waits until the API server was asked to delete so many pods of the gang, and says that no more were.
func (e *env) evicted(g, by objects.Gang, want int) {
	e.t.Helper()
	count := func() (int, error) {
		pods, err := e.pods(g)
		n := 0
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil {
				n++
			}
		}
		return n, err
	}
	e.eventually(15*time.Second, "the victims are evicted", func() error {
		n, err := count()
		if err == nil && n != want {
			err = errorf("%d are, expected %d; %s", n, want, e.why(by))
		}
		return err
	})
}

func (e *env) priorityIs(g objects.Gang, want int) {
	e.t.Helper()
	e.eventually(10*time.Second, "Muster tells the priority of gang "+g.Name, func() error {
		gang, err := e.muster.Gang(g.Namespace, g.Name)
		if err == nil && gang.Priority != want {
			err = errorf("it is %d, expected %d", gang.Priority, want)
		}
		return err
	})
}

// Its pods have no class: kube-scheduler and the API server know of no priority.
func TestTheClassOfAVolcanoPodGroupIsThePriorityOfItsPods(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.defineForeignPodGroups()
	e.definePriorities()
	e.setPolicy("preemption: lowerPriority")
	e.addGPUNodes(2)
	gang := func(name, class string, options ...objects.PodOption) objects.Gang {
		g := e.gang(name, 2, 8, options...)
		g.Flavour = objects.Volcano
		g.Says = map[string]any{"priorityClassName": class}
		return g
	}
	old := gang("old", "e2e-low", objects.Lingering)
	e.add(old)
	e.whole(30*time.Second, old)
	e.priorityIs(old, 10)
	urgent := gang("urgent", urgentClass)
	e.add(urgent)
	e.evicted(old, urgent, 2)
	e.priorityIs(urgent, 1000)
	for i := range 2 {
		e.must(e.letGo(old.Pod(i).Name))
	}
	e.whole(30*time.Second, urgent)
}

// native is a gang of Kubernetes' PodGroups; PodGroup and pods must have the same class.
func (e *env) native(name, class string, members, gpus int, says map[string]any, options ...objects.PodOption) objects.Gang {
	g := e.gang(name, members, gpus, append([]objects.PodOption{objects.WithPriorityClass(class)}, options...)...)
	g.Flavour = objects.Native
	g.Says = map[string]any{"priorityClassName": class}
	for key, value := range says {
		g.Says[key] = value
	}
	return g
}

func TestAPodGroupOfKubernetesThatIsDisruptedAsAWholeGoesWhole(t *testing.T) {
	onVersion(t, controlplane.Newest, objects.Native.Name)
	for _, mode := range []struct {
		name    string
		evicted int
	}{{"all", 2}, {"single", 1}} {
		t.Run(mode.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{native: true}))
			e.definePriorities()
			e.setPolicy("preemption: lowerPriority")
			e.addGPUNodes(2)
			says := map[string]any{"disruptionMode": map[string]any{mode.name: map[string]any{}}}
			old := e.native("old", "e2e-low", 2, 8, says, objects.Lingering)
			old.MinMember = 1
			e.add(old)
			e.whole(30*time.Second, old)
			e.priorityIs(old, 10)
			urgent := e.native("urgent", urgentClass, 1, 8, nil)
			e.add(urgent)
			e.evicted(old, urgent, mode.evicted)
			e.priorityIs(urgent, 1000)
			for i := range 2 {
				e.must(e.letGo(old.Pod(i).Name))
			}
			e.whole(30*time.Second, urgent)
		})
	}
}
