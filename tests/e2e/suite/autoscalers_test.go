package suite

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// The autoscalers themselves, with providers whose machines are Node objects: a gang that finds an empty pool gets its nodes.

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
  disruption: {consolidationPolicy: WhenEmpty, consolidateAfter: 10m}
`

func TestARealAutoscalerGivesAGangExactlyItsNodes(t *testing.T) {
	for name, pool := range map[string]string{"karpenter": karpenterPool, "cluster-autoscaler": ""} {
		t.Run(name, func(t *testing.T) {
			slow(t)
			if tested() != controlplane.Newest {
				t.Skip("it runs beside the newest Kubernetes")
			}
			if !controlplane.HasOperator(name) {
				t.Skipf("%s is not built; tests/e2e/build.sh autoscalers tells why", name)
			}
			e := in(t, mustered(t, worldOptions{autoscaler: name}))
			e.must(e.operate(name))
			e.bootNodes()
			if pool != "" {
				_, err := e.Kubectl(e.ctx, pool, "apply", "-f", "-")
				e.must(err)
			}
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

// hasNodes waits until the cluster has so many nodes, and no other comes.
func (e *env) hasNodes(count int) {
	e.t.Helper()
	same := func() error {
		if n := e.countNodes(); n != count {
			return errorf("there are %d nodes", n)
		}
		return nil
	}
	e.eventually(30*time.Second, "the gang has its nodes", same)
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
