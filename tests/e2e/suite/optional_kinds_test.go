package suite

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/objects"
)

const (
	topologyAnnotation = "muster.dev/gpu-topology"
	gpusAnnotation     = "muster.dev/gpus"
)

// defineOptionalKinds installs the kinds that Muster reads where they are served, and waits until it has found them.
func (e *env) defineOptionalKinds() {
	e.t.Helper()
	text, err := os.ReadFile("testdata/optional_kinds.yaml")
	e.must(err)
	_, err = e.Kubectl(e.ctx, string(text), "apply", "-f", "-")
	e.must(err)
	e.eventually(60*time.Second, "Muster follows them", func() error {
		for _, kind := range []string{"noderesourcetopologies.topology.node.k8s.io", "computedomains.resource.nvidia.com"} {
			synced, err := e.muster.Metric("muster_watch_synced", `resource="`+kind+`"`)
			if err != nil {
				return err
			}
			if synced != 1 {
				return errorf("not %s", kind)
			}
		}
		return nil
	})
}

// bridged is what nvidia-smi topo -m prints of a machine of two sockets with four GPUs each. NVLink bridges join GPU n of
// one socket to GPU n of the other, so the best pairs are those that a NUMA policy forbids.
func bridged() string {
	var text strings.Builder
	for i := range 8 {
		fmt.Fprintf(&text, "\tGPU%d", i)
	}
	text.WriteString("\tCPU Affinity\tNUMA Affinity\n")
	for i := range 8 {
		fmt.Fprintf(&text, "GPU%d", i)
		for j := range 8 {
			link := "SYS"
			switch {
			case i == j:
				link = " X "
			case i%4 == j%4:
				link = "NV4"
			case i/4 == j/4:
				link = "NODE"
			}
			text.WriteString("\t" + link)
		}
		fmt.Fprintf(&text, "\t%d-%d\t%d\n", i/4*64, i/4*64+63, i/4)
	}
	return text.String()
}

// sets are the GPUs that the gang's members were given.
func (e *env) sets(g objects.Gang) [][]int {
	e.t.Helper()
	var out [][]int
	for _, pod := range e.byNumber(g) {
		var set []int
		for index := range strings.SplitSeq(pod.Annotations[gpusAnnotation], ",") {
			n, err := strconv.Atoi(index)
			e.must(err)
			set = append(set, n)
		}
		slices.Sort(set)
		out = append(out, set)
	}
	return out
}

func (e *env) overBridges(g objects.Gang) {
	e.t.Helper()
	for _, set := range e.sets(g) {
		if len(set) != 2 || set[1]-set[0] != 4 {
			e.t.Errorf("%s has %v, which no bridge joins", g.Name, set)
		}
	}
}

func (e *env) inOneSocket(g objects.Gang) {
	e.t.Helper()
	for _, set := range e.sets(g) {
		if slices.Min(set)/4 != slices.Max(set)/4 {
			e.t.Errorf("%s has %v, of two sockets", g.Name, set)
		}
	}
}

// optional is a kind of testdata/optional_kinds.yaml.
func optional(group, version, resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: resource}
}

var nodeTopologies = optional("topology.node.k8s.io", "v1alpha2", "noderesourcetopologies")

// addNodeTopology makes the node's NodeResourceTopology, gone when the test ends.
func (e *env) addNodeTopology(node, version string, says map[string]any) {
	e.t.Helper()
	says["apiVersion"], says["kind"] = "topology.node.k8s.io/"+version, "NodeResourceTopology"
	says["metadata"] = map[string]any{"name": node}
	says["zones"] = []any{map[string]any{"name": "node-0", "type": "Node"}, map[string]any{"name": "node-1", "type": "Node"}}
	resource := optional(nodeTopologies.Group, version, nodeTopologies.Resource)
	_, err := e.Dynamic.Resource(resource).Create(e.ctx, &unstructured.Unstructured{Object: says}, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		_ = e.Dynamic.Resource(nodeTopologies).Delete(e.ctx, node, metav1.DeleteOptions{})
	})
}

func attribute(policy string) map[string]any {
	return map[string]any{"attributes": []any{
		map[string]any{"name": "topologyManagerScope", "value": "pod"},
		map[string]any{"name": "topologyManagerPolicy", "value": policy},
	}}
}

func TestSetsOfGPUsFollowTheNodeResourceTopologies(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.defineOptionalKinds()
	nodes := objects.Nodes(e.ns, 3, 8)
	for _, node := range nodes {
		node.Annotations = map[string]string{topologyAnnotation: bridged()}
	}
	first, second, third := nodes[0].Name, nodes[1].Name, nodes[2].Name
	e.addNodeTopology(first, "v1alpha2", attribute("single-numa-node"))
	e.addNodeTopology(second, "v1alpha1", map[string]any{"topologyPolicies": []any{"SingleNUMANodePodLevel"}})
	e.addNodes(nodes...)
	on := func(node, name string, gpus int) objects.Gang {
		g := e.gang(name, 2, gpus, objects.OnNodesWith(corev1.LabelHostname, node))
		e.add(g)
		return g
	}

	byAttribute, byPolicies, free := on(first, "by-attribute", 2), on(second, "by-policies", 2), on(third, "free", 2)
	e.whole(60*time.Second, byAttribute, byPolicies, free)
	e.inOneSocket(byAttribute)
	e.inOneSocket(byPolicies)
	e.overBridges(free)

	// No socket has five GPUs. The gang waits for a kubelet that takes them from both.
	for _, g := range []objects.Gang{byAttribute, byPolicies, free} {
		e.delete(g)
	}
	wide := e.gang("wide", 1, 5, objects.OnNodesWith(corev1.LabelHostname, first))
	e.add(wide)
	e.always(3*time.Second, "five GPUs are not of one socket", func() error {
		if n := e.bound(wide); n > 0 {
			return errorf("it is bound")
		}
		return nil
	})
	e.addNodeTopology(third, "v1alpha2", attribute("restricted"))
	e.must(e.Dynamic.Resource(nodeTopologies).Delete(e.ctx, second, metav1.DeleteOptions{}))
	_, err := e.Dynamic.Resource(nodeTopologies).Patch(e.ctx, first, types.JSONPatchType,
		[]byte(`[{"op":"replace","path":"/attributes/1/value","value":"best-effort"}]`), metav1.PatchOptions{})
	e.must(err)
	e.whole(30*time.Second, wide) // that was the last change, so all are known

	restricted, unsaid := on(third, "restricted", 2), on(second, "unsaid", 2)
	e.whole(60*time.Second, restricted, unsaid)
	e.inOneSocket(restricted)
	e.overBridges(unsaid)

	// A new process reads them before its first plan.
	for _, g := range []objects.Gang{restricted, unsaid} {
		e.delete(g)
	}
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	again := on(third, "again", 2)
	e.whole(60*time.Second, again)
	e.inOneSocket(again)
}
