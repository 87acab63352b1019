package suite

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// reserve brings a gang to where all members are nominated and none is released, and returns what keeps it there.
func (e *env) reserve(g objects.Gang) *proxy.Active {
	e.t.Helper()
	hold := e.proxy.Add(proxy.Fault{Match: proxy.GateRemoval.In(e.ns), Hold: true})
	e.add(g)
	e.reached(hold, 30*time.Second)
	e.eventually(10*time.Second, "every member is nominated", func() error {
		pods, err := e.pods(g)
		for _, pod := range pods {
			if pod.Status.NominatedNodeName == "" {
				return errorf("%s is not", pod.Name)
			}
		}
		return err
	})
	return hold
}

func (e *env) deletePod(name string) {
	e.t.Helper()
	e.must(e.Client.CoreV1().Pods(e.ns).Delete(e.ctx, name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}))
}

// replacePod deletes the pod and adds it anew a while later. kwok deletes a bound pod that is to go by its name, without
// a UID, a moment after it is gone: that must not hit the next one.
func (e *env) replacePod(pod *corev1.Pod) {
	e.t.Helper()
	e.deletePod(pod.Name)
	time.Sleep(time.Second)
	e.addPods(pod)
}

func TestAGangThatLosesAMemberWhileReservedHoldsNothingUntilItIsCompleteAgain(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	g := e.gang("g", 8, 4)
	hold := e.reserve(g)
	e.deletePod(g.Pod(3).Name)
	hold.Remove()
	e.eventually(15*time.Second, "nothing is nominated any more", func() error {
		pods, err := e.pods(g)
		for _, pod := range pods {
			if pod.Status.NominatedNodeName != "" {
				return errorf("%s is, for %s; %s", pod.Name, pod.Status.NominatedNodeName, e.why(g))
			}
		}
		return err
	})
	if n := e.bound(g); n > 0 {
		t.Errorf("%d of seven members are bound", n)
	}
	other := e.gang("other", 4, 8) // the whole cluster
	e.add(other)
	e.whole(30*time.Second, other)
	e.end(other)
	e.addPods(g.Pod(3))
	e.whole(30*time.Second, g)
}

func TestAMemberMadeAnewUnderItsNameIsAnotherPod(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	g := e.gang("g", 8, 4)
	hold := e.reserve(g)
	before := e.uids(g)
	e.deletePod(g.Pod(3).Name)
	e.addPods(g.Pod(3))
	hold.Remove()
	e.whole(60*time.Second, g)
	for name, uid := range e.uids(g) {
		if same := uid == before[name]; same == (name == g.Pod(3).Name) {
			t.Errorf("%s has UID %s and had %s", name, uid, before[name])
		}
	}
}

// trouble is what befalls a node to which a member is nominated.
type trouble struct {
	name   string
	strike func(e *env, node string) error
}

var troubles = []trouble{
	{"is not ready", func(e *env, node string) error { return e.patchNodeStatus(node, objects.Ready(false)) }},
	{"is cordoned", func(e *env, node string) error {
		return e.patchNode(node, `{"spec":{"unschedulable":true}}`)
	}},
	{"is removed", func(e *env, node string) error {
		return e.Client.CoreV1().Nodes().Delete(e.ctx, node, metav1.DeleteOptions{})
	}},
	{"has a new taint", func(e *env, node string) error {
		return e.patchNode(node, `{"spec":{"taints":[{"key":"e2e.muster.dev/bad","effect":"NoSchedule"}]}}`)
	}},
}

func (e *env) patchNode(name, patch string) error {
	_, err := e.Client.CoreV1().Nodes().Patch(e.ctx, name, types.StrategicMergePatchType, []byte(patch), metav1.PatchOptions{})
	return err
}

func (e *env) patchNodeStatus(name string, condition corev1.NodeCondition) error {
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": []corev1.NodeCondition{condition}}})
	if err != nil {
		return err
	}
	_, err = e.Client.CoreV1().Nodes().PatchStatus(e.ctx, name, patch)
	return err
}

func TestAGangIsPlannedAnewWhenANodeThatItWasNominatedTo(t *testing.T) {
	for _, trouble := range troubles {
		t.Run(trouble.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			e.addGPUNodes(6)
			g := e.gang("g", 8, 4)
			hold := e.reserve(g)
			pods, err := e.pods(g)
			e.must(err)
			bad := pods[0].Status.NominatedNodeName
			e.must(trouble.strike(e, bad))
			time.Sleep(time.Second) // until the taint of the node's condition is there
			hold.Remove()
			e.whole(60*time.Second, g)
			pods, err = e.pods(g)
			e.must(err)
			for _, pod := range pods {
				if pod.Spec.NodeName == bad {
					t.Errorf("%s went to %s", pod.Name, bad)
				}
			}
		})
	}
}

// A device plugin that restarts: allocatable falls to 0 and comes back. Nothing that runs suffers, nothing new comes.
func TestGPUsThatAreNotAllocatableAreNotGivenOutAndRunningGangsStay(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	runs, waits := e.gang("runs", 1, 8), e.gang("waits", 1, 8)
	e.add(runs)
	e.whole(30*time.Second, runs)
	for _, node := range e.nodes {
		e.must(e.setAllocatable(node, 0))
	}
	time.Sleep(time.Second)
	e.add(waits)
	e.addPods(objects.Pod(e.ns, "without-gpus", 0))
	e.eventually(30*time.Second, "a pod without GPUs is placed", func() error {
		pod, err := e.Client.CoreV1().Pods(e.ns).Get(e.ctx, "without-gpus", metav1.GetOptions{})
		if err == nil && pod.Spec.NodeName == "" {
			err = errorf("it is not")
		}
		return err
	})
	e.always(3*time.Second, "the running one stays and the other waits", func() error {
		if n := e.bound(waits); n > 0 {
			return errorf("%d members of the other are bound", n)
		}
		return e.isWhole(runs)
	})
	for _, node := range e.nodes {
		e.must(e.setAllocatable(node, 8))
	}
	e.whole(60*time.Second, waits) // a node that was bad is held down for 30 s
	e.must(e.isWhole(runs))
}

func (e *env) setAllocatable(node string, gpus int) error {
	patch := fmt.Sprintf(`{"status":{"allocatable":{"nvidia.com/gpu":"%d"}}}`, gpus)
	_, err := e.Client.CoreV1().Nodes().PatchStatus(e.ctx, node, []byte(patch))
	return err
}
