package suite

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

const (
	zoneLabel = "topology.kubernetes.io/zone"
	poolTaint = "e2e.muster.dev/pool"
	// What a pod's affinity says, for the check afterwards.
	excludedZone = "e2e.muster.dev/excluded-zone"
)

// 64 nodes in four zones; those of zone d are tainted, and those of zone c have little memory to spare.
func mixedNodes(e *env) []*corev1.Node {
	nodes := objects.Nodes(e.ns, 64, 8)
	for i, node := range nodes {
		zone := string(rune('a' + i/16))
		node.Labels[zoneLabel] = zone
		switch zone {
		case "d":
			node.Spec.Taints = []corev1.Taint{{Key: poolTaint, Value: "d", Effect: corev1.TaintEffectNoSchedule}}
		case "c":
			node.Status.Allocatable[corev1.ResourceMemory] = resource.MustParse("64Gi")
		}
	}
	return nodes
}

// Twenty gangs, and what each needs beside GPUs. Whatever the order, all fit: no zone can be filled by those that need
// not be in it.
func mixedGangs(e *env) []objects.Gang {
	sizes := []int{2, 2, 2, 3, 3, 4, 4, 5, 6, 8, 6, 7, 8, 8, 10, 10, 10, 12, 16, 64}
	var out []objects.Gang
	for i, size := range sizes {
		var options []objects.PodOption
		switch {
		case i == 9:
			options = append(options, objects.Tolerating(poolTaint, "d"), objects.OnNodesWith(zoneLabel, "d"))
		case i == 19:
			options = append(options, notInZone("b"))
		case i%4 == 1:
			options = append(options, objects.OnNodesWith(zoneLabel, "b"))
		case i%4 == 2:
			options = append(options, notInZone("a"))
		case i%4 == 3:
			options = append(options, objects.Requesting(corev1.ResourceMemory, "24Gi"), objects.Requesting(corev1.ResourceCPU, "8"))
		}
		out = append(out, e.gang(fmt.Sprintf("gang-%d", i), size, 1, options...))
	}
	return out
}

// Two hundred pods of one GPU: half in the tainted zone, half outside of it and of zone b, and one with a volume.
func mixedSingles(e *env) []*corev1.Pod {
	pods := []*corev1.Pod{objects.Pod(e.ns, "single-with-volume", 1, objects.WithClaim(e.addZonalVolume()))}
	for i := range 100 {
		pods = append(pods, objects.Pod(e.ns, fmt.Sprintf("single-d-%d", i), 1,
			objects.Tolerating(poolTaint, "d"), objects.OnNodesWith(zoneLabel, "d")))
	}
	for i := range 99 {
		pods = append(pods, objects.Pod(e.ns, fmt.Sprintf("single-%d", i), 1, notInZone("b")))
	}
	return pods
}

func notInZone(zone string) objects.PodOption {
	return func(pod *corev1.Pod) {
		pod.Annotations[excludedZone] = zone
		pod.Spec.Affinity = &corev1.Affinity{NodeAffinity: &corev1.NodeAffinity{
			RequiredDuringSchedulingIgnoredDuringExecution: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: zoneLabel, Operator: corev1.NodeSelectorOpNotIn, Values: []string{zone},
				}},
			}}},
		}}
	}
}

// A volume that only nodes of zone b reach, bound when its pod is placed.
func (e *env) addZonalVolume() (claim string) {
	e.t.Helper()
	class, wait := e.ns, storagev1.VolumeBindingWaitForFirstConsumer
	_, err := e.Client.StorageV1().StorageClasses().Create(e.ctx, &storagev1.StorageClass{
		ObjectMeta:  metav1.ObjectMeta{Name: class},
		Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &wait,
	}, metav1.CreateOptions{})
	e.must(err)
	amount := corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
	modes := []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}
	_, err = e.Client.CoreV1().PersistentVolumes().Create(e.ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: e.ns},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: amount, AccessModes: modes, StorageClassName: class,
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: zoneLabel, Operator: corev1.NodeSelectorOpIn, Values: []string{"b"},
				}},
			}}}},
		},
	}, metav1.CreateOptions{})
	e.must(err)
	_, err = e.Client.CoreV1().PersistentVolumeClaims(e.ns).Create(e.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: "data"},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: modes, StorageClassName: &class, Resources: corev1.VolumeResourceRequirements{Requests: amount},
		},
	}, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		_ = e.Client.CoreV1().PersistentVolumes().Delete(e.ctx, e.ns, metav1.DeleteOptions{})
		_ = e.Client.StorageV1().StorageClasses().Delete(e.ctx, class, metav1.DeleteOptions{})
	})
	return "data"
}

func TestAMixedLoadIsPlacedWholeAndEveryOrdinaryConstraintHolds(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	nodes := mixedNodes(e)
	zones := map[string]string{}
	for _, node := range nodes {
		zones[node.Name] = node.Labels[zoneLabel]
	}
	e.addNodes(nodes...)
	gangs := mixedGangs(e)
	var pods []*corev1.Pod
	for _, g := range gangs {
		e.addGroup(g)
		pods = append(pods, g.Pods()...)
	}
	pods = append(pods, mixedSingles(e)...)
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(pods), func(i, j int) { pods[i], pods[j] = pods[j], pods[i] })
	begin := time.Now()
	e.addPods(pods...)

	e.eventually(2*time.Minute, "every pod is placed", func() error {
		placed, err := e.list("")
		if n := countBound(placed); err == nil && n != len(pods) {
			return errorf("%d of %d are; %s", n, len(pods), e.whoWaits(gangs))
		}
		return err
	})
	t.Logf("%d pods placed in %s; no gang was partly bound for more than %s", len(pods),
		time.Since(begin).Round(100*time.Millisecond), e.auditor.LongestPartial().Round(time.Millisecond))

	placed, err := e.list("")
	e.must(err)
	for _, pod := range placed {
		if err := constraintsHold(&pod, zones[pod.Spec.NodeName]); err != nil {
			t.Errorf("%s on node %s: %v", pod.Name, pod.Spec.NodeName, err)
		}
	}
}

func constraintsHold(pod *corev1.Pod, zone string) error {
	if want := pod.Spec.NodeSelector[zoneLabel]; want != "" && zone != want {
		return errorf("zone %s instead of %s", zone, want)
	}
	if zone == "d" && pod.Spec.NodeSelector[zoneLabel] != "d" {
		return errorf("the taint of zone d is not tolerated")
	}
	if zone == pod.Annotations[excludedZone] {
		return errorf("zone %s is excluded by affinity", zone)
	}
	if pod.Name == "single-with-volume" && zone != "b" {
		return errorf("its volume is in zone b")
	}
	return nil
}

func (e *env) whoWaits(gangs []objects.Gang) string {
	out := ""
	for _, g := range gangs {
		pods, err := e.pods(g)
		if n := countBound(pods); err == nil && n != g.Members {
			out += fmt.Sprintf("\n%s has %d of %d; %s", g.Name, n, g.Members, e.why(g))
		}
	}
	return out
}
