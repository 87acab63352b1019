package controlplane

import (
	"context"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nothing of Muster: what stands here must hold before anything else can be believed.
func TestControlPlaneRunsAPodThatKubeSchedulerPlaced(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := StateDir("smoke")
	if err != nil {
		t.Fatal(err)
	}
	cp, err := Start(ctx, Options{Version: Newest, Dir: dir, Kubelets: true, Controllers: true})
	if err != nil {
		t.Fatal(err)
	}
	defer cp.Stop()
	if _, err := cp.StartScheduler(ctx, Scheduler{Name: "kube-scheduler", Config: DefaultScheduler}); err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n0"}, Status: corev1.NodeStatus{
		Conditions:  []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}},
		Allocatable: corev1.ResourceList{"pods": resource.MustParse("10")},
	}}
	if _, err := cp.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}, Spec: corev1.PodSpec{
		Containers: []corev1.Container{{Name: "c", Image: "image"}},
	}}
	if _, err := cp.Client.CoreV1().Pods("default").Create(ctx, pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for {
		got, err := cp.Client.CoreV1().Pods("default").Get(ctx, "p", metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if got.Spec.NodeName == "n0" && got.Status.Phase == corev1.PodRunning {
			return
		}
		time.Sleep(50 * time.Millisecond)
	}
}

func TestAControlPlaneWhoseAPIServerDoesNotComeUpSaysSo(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	dir, err := StateDir("broken")
	if err != nil {
		t.Fatal(err)
	}
	cp, err := Start(ctx, Options{Version: Newest, Dir: dir, APIServerFlags: []string{"--no-such-flag"}})
	if err == nil {
		cp.Stop()
		t.Fatal("it runs with a flag that does not exist")
	}
	if cp != nil || !strings.Contains(err.Error(), "kube-apiserver") {
		t.Errorf("expected an error of kube-apiserver and nothing else, got %v and %v", err, cp)
	}
}
