package suite

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"muster.dev/e2e/objects"
)

// grows has the cluster grow for pods that are Unschedulable, until the test ends.
func (e *env) grows() {
	e.t.Helper()
	e.growsBy("unschedulable", "")
}

// growsBy sets the policy's section autoscaling, until the test ends; more: further lines of it.
func (e *env) growsBy(scaleUp, more string) {
	e.t.Helper()
	e.must(e.writePolicy("autoscaling:\n  scaleUp: " + scaleUp + "\n  after: 3s\n" + more))
	e.t.Cleanup(func() {
		if err := e.writePolicy(""); err != nil {
			e.t.Errorf("the policy is not put back: %v", err)
		}
	})
	e.eventually(15*time.Second, "the policy is loaded", func() error {
		policy, err := e.muster.Policy()
		if err == nil && !strings.Contains(policy, "scaleUp: "+scaleUp) {
			err = errorf("it is\n%s", policy)
		}
		return err
	})
}

// asksForNodes says why an autoscaler would not add nodes for the pod. Cluster-autoscaler and Karpenter both look at this.
func asksForNodes(pod corev1.Pod) error {
	if pod.Spec.NodeName != "" || pod.Status.NominatedNodeName != "" || len(pod.Spec.SchedulingGates) > 0 {
		return errorf("%s has node %q, nomination %q, %d gates", pod.Name, pod.Spec.NodeName, pod.Status.NominatedNodeName,
			len(pod.Spec.SchedulingGates))
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
			return nil
		}
	}
	return errorf("%s is not Unschedulable: %+v", pod.Name, pod.Status.Conditions)
}

func TestAGangThatLacksNodesMakesTheClusterGrowAndStartsWhole(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.grows()
	g := e.gang("g", 4, 8)
	e.add(g)
	e.eventually(30*time.Second, "an autoscaler counts each of its pods", func() error {
		pods, err := e.pods(g)
		if err != nil {
			return err
		}
		for _, pod := range pods {
			if err := asksForNodes(pod); err != nil {
				return err
			}
		}
		return nil
	})
	// The nodes come one after the other.
	for _, node := range objects.Nodes(e.ns, 3, 8) {
		e.addNodes(node)
	}
	e.always(5*time.Second, "no part of it starts", func() error {
		pods, err := e.pods(g)
		if n := countBound(pods); err == nil && n > 0 {
			err = errorf("%d pods are bound", n)
		}
		return err
	})
	e.addNodes(objects.Node(e.ns+"-last", 8))
	e.whole(60*time.Second, g)
	pods, err := e.pods(g)
	e.must(err)
	for _, pod := range pods {
		if pod.Annotations["karpenter.sh/do-not-disrupt"] != "true" ||
			pod.Annotations["cluster-autoscaler.kubernetes.io/safe-to-evict"] != "false" {
			t.Errorf("an autoscaler may remove the node of %s: %v", pod.Name, pod.Annotations)
		}
	}
}

func TestAGangThatFitsIsNotReleasedForAnAutoscaler(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.grows()
	e.addGPUNodes(2)
	g := e.gang("g", 2, 8)
	e.add(g)
	e.whole(30*time.Second, g)
	events, err := e.Kubectl(e.ctx, "", "--namespace", e.ns, "get", "events", "--output", "name", "--field-selector", "reason=GangScaleUp")
	e.must(err)
	if strings.TrimSpace(events) != "" {
		t.Errorf("nodes were asked for: %s", events)
	}
}
