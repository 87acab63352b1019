package suite

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-scheduler counts pods that are nominated to the node it looks at, and none that are nominated elsewhere: members that are all
// nominated at once would keep each other out.
func TestMembersThatAreToBeSpreadStartWithoutARefusal(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(3)
	workers := e.gang("workers", 9, 1)
	e.addGroup(workers)
	pods := workers.Pods()
	for _, pod := range pods {
		pod.Labels["app"] = e.ns
		pod.Spec.TopologySpreadConstraints = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": e.ns}},
		}}
	}
	e.addPods(pods...)
	e.whole(30*time.Second, workers)
	if n := e.nodesOf(workers); n != 3 {
		t.Errorf("they are on %d nodes", n)
	}
	if refused := e.refusals(workers); len(refused) > 0 {
		t.Errorf("kube-scheduler refused %v", refused)
	}
}
