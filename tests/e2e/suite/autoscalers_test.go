package suite

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// The autoscalers themselves, with providers whose machines are Node objects, and pools that can have poolNodes of them.

const poolNodes = 4

const karpenterPool = `apiVersion: karpenter.kwok.sh/v1alpha1
kind: KWOKNodeClass
metadata: {name: gpu}
---
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: {name: gpu}
spec:
  template:
    metadata:
      labels: {nvidia.com/gpu.present: "true", nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3, nvidia.com/gpu.count: "8"}
    spec:
      nodeClassRef: {group: karpenter.kwok.sh, kind: KWOKNodeClass, name: gpu}
      requirements:
      - {key: node.kubernetes.io/instance-type, operator: In, values: [gpu-8x]}
  limits: {nvidia.com/gpu: "32"}
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 20s}
`

// Each with the pool that it has to be told of.
var autoscalers = map[string]string{"karpenter": karpenterPool, "cluster-autoscaler": ""}

// beside is a test's part of a world where that autoscaler is at work.
func beside(t *testing.T, name string) *env {
	t.Helper()
	slow(t)
	if tested() != controlplane.Newest {
		t.Skip("autoscalers run beside the newest Kubernetes alone")
	}
	if !controlplane.HasOperator(name) {
		t.Skipf("%s is not built; tests/e2e/build.sh autoscalers tells why", name)
	}
	e := in(t, mustered(t, worldOptions{autoscaler: name}))
	if name == "cluster-autoscaler" {
		e.installRequests() // it follows them from its start
	}
	e.must(e.operate(name))
	e.bootNodes()
	if pool := autoscalers[name]; pool != "" {
		_, err := e.Kubectl(e.ctx, pool, "apply", "-f", "-")
		e.must(err)
	}
	return e
}

func TestARealAutoscalerGivesAGangExactlyItsNodes(t *testing.T) {
	for name := range autoscalers {
		t.Run(name, func(t *testing.T) {
			e := beside(t, name)
			e.grows()
			g := e.gang("g", 4, 8)
			e.add(g)
			e.whole(3*time.Minute, g)
			e.hasNodes(4)

			// No machine of the pool has room for one of its members.
			never := e.gang("never", 2, 16)
			e.add(never)
			e.always(30*time.Second, "nothing is added for a gang that can never fit", func() error {
				if n := e.bound(never); n > 0 {
					return errorf("%d members of it are bound", n)
				}
				if n := e.countNodes(); n != 4 {
					return errorf("there are %d nodes", n)
				}
				return e.isWhole(g)
			})
		})
	}
}

// An autoscaler adds what the pool can have, although that is not enough, and keeps it as long as the gang waits.
func TestAGangLargerThanItsPoolWaitsWholeAndHarmsNoOther(t *testing.T) {
	for name := range autoscalers {
		t.Run(name, func(t *testing.T) {
			e := beside(t, name)
			e.grows()
			running, large, small := e.gang("running", 1, 8), e.gang("large", poolNodes+2, 8), e.gang("small", 2, 8)
			e.add(running)
			e.whole(3*time.Minute, running)

			e.add(large)
			e.hasNodes(poolNodes)
			e.waitsFor(large, "it wants 48 GPUs (6 × 8)")
			e.waitsFor(large, "32 would be free on the 4 nodes that it may use, the cluster has 32")
			e.scaleUpSays(large, "asked for")
			waits := func(others ...objects.Gang) func() error {
				return func() error {
					if n := e.bound(large); n > 0 {
						return errorf("%d members of %s are bound", n, large.Name)
					}
					if n := e.countNodes(); n != poolNodes {
						return errorf("there are %d nodes", n)
					}
					for _, other := range others {
						if err := e.isWhole(other); err != nil {
							return err
						}
					}
					return nil
				}
			}
			// Three times as long as the autoscaler leaves a node that nobody needs.
			e.always(time.Minute, "the gang waits, and the nodes are kept for its pods", waits(running))

			e.add(small)
			e.whole(30*time.Second, small)
			e.always(15*time.Second, "a gang that fits runs beside it", waits(running, small))

			e.deleteAll(e.ctx, metav1.ListOptions{LabelSelector: objects.GangLabel + "=" + large.Name})
			e.hasNodes(running.Members + small.Members)
			e.must(errors.Join(e.isWhole(running), e.isWhole(small)))
		})
	}
}

// The requests are Muster's, and the answers cluster-autoscaler's own.
func TestAGangGetsAllNodesThatItAskedClusterAutoscalerForOrNone(t *testing.T) {
	e := beside(t, "cluster-autoscaler")
	e.hasNodes(0)
	e.followsRequests()
	e.growsBy("provisioningRequest", "")

	large := e.gang("large", poolNodes+2, 8)
	e.add(large)
	e.asksOnce(large)
	e.scaleUpSays(large, "Capacity is not found")
	e.hasNodes(0)

	g := e.gang("g", poolNodes, 8)
	e.add(g)
	e.whole(3*time.Minute, g)
	for _, pod := range e.byNumber(g) {
		if !strings.HasPrefix(pod.Annotations[consumesAnnotation], "muster-g-") {
			t.Errorf("%s does not say which request was for it: %v", pod.Name, pod.Annotations)
		}
	}
	e.hasNodes(poolNodes)
	e.asksNoMore(g)
	e.staysGated(time.Second, large)
}

// hasNodes waits until the cluster has so many nodes, and no other comes.
func (e *env) hasNodes(count int) {
	e.t.Helper()
	same := func() error {
		if n := e.countNodes(); n != count {
			return errorf("there are %d nodes", n)
		}
		return nil
	}
	e.eventually(90*time.Second, "the gang has its nodes", same)
	e.always(15*time.Second, "and they are all", same)
}

func (e *env) countNodes() int {
	e.t.Helper()
	nodes, err := e.Client.CoreV1().Nodes().List(e.ctx, metav1.ListOptions{})
	e.must(err)
	return len(nodes.Items)
}

// bootNodes does what the kubelets of new machines do, until the test ends: they report what they have, and are Ready.
func (e *env) bootNodes() {
	ctx, cancel := context.WithCancel(e.ctx)
	done := make(chan struct{})
	e.t.Cleanup(func() {
		cancel()
		<-done
	})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			nodes, err := e.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			if err == nil {
				for i := range nodes.Items {
					e.boot(ctx, &nodes.Items[i])
				}
			}
			time.Sleep(500 * time.Millisecond)
		}
	}()
}

func (e *env) boot(ctx context.Context, node *corev1.Node) {
	for _, c := range node.Status.Conditions {
		if c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue {
			return
		}
	}
	ready := objects.Ready(true)
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"capacity": node.Status.Allocatable, "conditions": []corev1.NodeCondition{ready},
	}})
	if err != nil {
		panic(err)
	}
	// If it has gone meanwhile, nothing is to be done.
	_, _ = e.Client.CoreV1().Nodes().Patch(ctx, node.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
}
