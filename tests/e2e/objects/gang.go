package objects

import (
	"fmt"
	"maps"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Flavour is a kind of PodGroup and the way in which pods refer to it.
type Flavour struct {
	Name     string
	Resource schema.GroupVersionResource // empty: pods say everything themselves
	Kind     string                      // PodGroup, if empty
	link     func(pod *corev1.Pod, group string, minMember int)
	spec     func(minMember int) map[string]any
}

// The flavours that teams use already.
var (
	Plugins = Flavour{
		Name: "scheduling.x-k8s.io/v1alpha1", Resource: podGroups("scheduling.x-k8s.io", "v1alpha1"),
		link: byLabel("scheduling.x-k8s.io/pod-group"), spec: minMemberSpec,
	}
	Volcano = Flavour{
		Name: "scheduling.volcano.sh/v1beta1", Resource: podGroups("scheduling.volcano.sh", "v1beta1"),
		link: byAnnotation("scheduling.k8s.io/group-name"), spec: minMemberSpec,
	}
	KAI = Flavour{
		Name: "scheduling.run.ai/v2alpha2", Resource: podGroups("scheduling.run.ai", "v2alpha2"),
		link: byAnnotation("pod-group-name"), spec: minMemberSpec,
	}
	// Grove's gangs have PodCliques, here one.
	Grove = Flavour{
		Name: "scheduler.grove.io/v1alpha1", Kind: "PodGang",
		Resource: schema.GroupVersionResource{Group: "scheduler.grove.io", Version: "v1alpha1", Resource: "podgangs"},
		link: func(pod *corev1.Pod, group string, _ int) {
			pod.Labels["grove.io/podgang"] = group
			pod.Labels["grove.io/podclique"] = "workers"
		},
		spec: func(minMember int) map[string]any {
			return map[string]any{"podgroups": []any{map[string]any{
				"name": "workers", "minReplicas": int64(minMember), "podReferences": []any{},
			}}}
		},
	}
	// Label is the tutorials' label beside a PodGroup of scheduler-plugins.
	Label = Flavour{
		Name: "label scheduling.k8s.io/pod-group", Resource: podGroups("scheduling.x-k8s.io", "v1alpha1"),
		link: byLabel("scheduling.k8s.io/pod-group"), spec: minMemberSpec,
	}
	// PodsOnly has no PodGroup object: Koordinator's lightweight labels give the size.
	PodsOnly = Flavour{
		Name: "labels of the pods alone",
		link: func(pod *corev1.Pod, group string, minMember int) {
			pod.Labels["pod-group.scheduling.sigs.k8s.io/name"] = group
			pod.Labels["pod-group.scheduling.sigs.k8s.io/min-available"] = fmt.Sprint(minMember)
		},
	}
	// Kueue has no PodGroup object either: its pods say how many they are.
	Kueue = Flavour{
		Name: "labels of Kueue's plain pods",
		link: func(pod *corev1.Pod, group string, minMember int) {
			pod.Labels["kueue.x-k8s.io/pod-group-name"] = group
			pod.Annotations["kueue.x-k8s.io/pod-group-total-count"] = fmt.Sprint(minMember)
		},
	}
	// Native is Kubernetes' own, as the newest release speaks it.
	Native = NativeAs("v1beta1")
)

// NativeAs is Kubernetes' own in one version of its API.
func NativeAs(version string) Flavour {
	return Flavour{
		Name: "scheduling.k8s.io/" + version, Resource: podGroups("scheduling.k8s.io", version),
		link: func(pod *corev1.Pod, group string, _ int) {
			pod.Spec.SchedulingGroup = &corev1.PodSchedulingGroup{PodGroupName: &group}
		},
		spec: func(minMember int) map[string]any {
			return map[string]any{"schedulingPolicy": map[string]any{"gang": map[string]any{"minCount": int64(minMember)}}}
		},
	}
}

func podGroups(group, version string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: group, Version: version, Resource: "podgroups"}
}

func byLabel(key string) func(*corev1.Pod, string, int) {
	return func(pod *corev1.Pod, group string, _ int) { pod.Labels[key] = group }
}

func byAnnotation(key string) func(*corev1.Pod, string, int) {
	return func(pod *corev1.Pod, group string, _ int) { pod.Annotations[key] = group }
}

func minMemberSpec(minMember int) map[string]any {
	return map[string]any{"minMember": int64(minMember)}
}

// Gang is a PodGroup and its pods.
type Gang struct {
	Namespace, Name string
	Flavour         Flavour // Plugins, if it has no name
	Members         int
	MinMember       int // Members, if 0
	GPUs            int // of each member
	Options         []PodOption
	Says            map[string]any // further fields of its PodGroup's spec
}

func (g Gang) withDefaults() Gang {
	if g.Flavour.Name == "" {
		g.Flavour = Plugins
	}
	if g.MinMember == 0 {
		g.MinMember = g.Members
	}
	return g
}

// Key names it for the auditor.
func (g Gang) Key() string { return g.Namespace + "/" + g.Name }

// Minimum is how many members must start together.
func (g Gang) Minimum() int { return g.withDefaults().MinMember }

// PodGroup is its object; nil where its flavour has none.
func (g Gang) PodGroup() *unstructured.Unstructured {
	g = g.withDefaults()
	if g.Flavour.Resource.Resource == "" {
		return nil
	}
	kind := g.Flavour.Kind
	if kind == "" {
		kind = "PodGroup"
	}
	spec := g.Flavour.spec(g.MinMember)
	maps.Copy(spec, g.Says)
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": g.Flavour.Resource.GroupVersion().String(), "kind": kind,
		"metadata": map[string]any{"namespace": g.Namespace, "name": g.Name},
		"spec":     spec,
	}}
}

// GroupResource is where its PodGroup lives.
func (g Gang) GroupResource() schema.GroupVersionResource { return g.withDefaults().Flavour.Resource }

// Pod is its i-th member.
func (g Gang) Pod(i int) *corev1.Pod {
	g = g.withDefaults()
	pod := Pod(g.Namespace, fmt.Sprintf("%s-%d", g.Name, i), g.GPUs, g.Options...)
	pod.Labels[GangLabel] = g.Name
	g.Flavour.link(pod, g.Name, g.MinMember)
	return pod
}

// Pods are all of its members.
func (g Gang) Pods() []*corev1.Pod {
	var out []*corev1.Pod
	for i := range g.Members {
		out = append(out, g.Pod(i))
	}
	return out
}

// GangLabel says, in words of the tests alone, which gang a pod is of, whatever its flavour.
const GangLabel = "e2e.muster.dev/gang"

// GangOf is the key of a pod's gang; empty: it has none.
func GangOf(pod *corev1.Pod) string {
	if name := pod.Labels[GangLabel]; name != "" {
		return pod.Namespace + "/" + name
	}
	return ""
}
