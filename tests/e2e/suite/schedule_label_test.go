package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// taking is a world in which pods of labelled namespaces are taken for Muster: by the admission policies, or by its webhook.
func taking(t *testing.T, webhook bool) *env {
	t.Helper()
	if !webhook && tested() == controlplane.Older {
		t.Skip("this Kubernetes has no MutatingAdmissionPolicy")
	}
	return in(t, mustered(t, worldOptions{webhook: webhook}))
}

// scheduleLabel sets muster.dev/schedule of the test's namespace; empty: takes it away. It returns when that is in force.
func (e *env) scheduleLabel(value string) {
	e.t.Helper()
	text := "null"
	if value != "" {
		text = `"` + value + `"`
	}
	patch := []byte(`{"metadata":{"labels":{"muster.dev/schedule":` + text + `}}}`)
	_, err := e.Client.CoreV1().Namespaces().Patch(e.ctx, e.ns, types.MergePatchType, patch, metav1.PatchOptions{})
	e.must(err)
	for what, want := range map[string]bool{"gpu": value != "", "plain": value == "all"} {
		pod := objects.Pod(e.ns, "probe-"+what, map[string]int{"gpu": 1}[what], objects.By(objects.Default))
		e.eventually(30*time.Second, fmt.Sprintf("label %q is in force", value), func() error {
			got, err := e.dryRun(pod)
			if err == nil && (got.Spec.SchedulerName == objects.Muster) != want {
				err = errorf("a pod %s gets schedulerName %s", what, got.Spec.SchedulerName)
			}
			return err
		})
	}
}

// dryRun is what would be created.
func (e *env) dryRun(pod *corev1.Pod) (*corev1.Pod, error) {
	return e.Client.CoreV1().Pods(e.ns).Create(e.ctx, pod, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
}

func ownedBy(apiVersion, kind string) objects.PodOption {
	return func(pod *corev1.Pod) {
		controller := true
		pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: apiVersion, Kind: kind, Name: "owner", UID: "1-2-3", Controller: &controller}}
	}
}

func onNode(pod *corev1.Pod) { pod.Spec.NodeName = "some-node" }

func TestPodsOfLabelledNamespacesAreMustersByPolicy(t *testing.T)  { takenPods(taking(t, false)) }
func TestPodsOfLabelledNamespacesAreMustersByWebhook(t *testing.T) { takenPods(taking(t, true)) }

// takenPods creates pods of all kinds, for a trial, under both values of the label.
func takenPods(e *env) {
	const otherGate, gangGate = "example.com/gate", "muster.dev/gang"
	byDefault, third := objects.By(objects.Default), objects.By("third")
	cases := []struct {
		name       string
		gpus       int
		options    []objects.PodOption
		gpu, all   string // schedulerName under each value; with "+": and the gate
		otherGates int
	}{
		{"gpus", 2, []objects.PodOption{byDefault}, "muster+", "muster+", 0},
		{"plain", 0, []objects.PodOption{byDefault}, "default-scheduler", "muster+", 0},
		{"share", 0, []objects.PodOption{byDefault, objects.Annotated("gpu-fraction", "0.5")}, "muster+", "muster+", 0},
		{"hami", 0, []objects.PodOption{byDefault, objects.RequestingDevices("nvidia.com/gpumem", "1000")}, "muster+", "muster+", 0},
		{"amd", 0, []objects.PodOption{byDefault, objects.RequestingDevices("amd.com/gpu", "1")}, "default-scheduler", "muster+", 0},
		// Pods without GPUs of workloads that may have such.
		{"jobset", 0, []objects.PodOption{byDefault, objects.Labelled("jobset.sigs.k8s.io/jobset-name", "train")}, "muster+", "muster+", 0},
		{"lws", 0, []objects.PodOption{byDefault, objects.Labelled("leaderworkerset.sigs.k8s.io/name", "vllm")}, "muster+", "muster+", 0},
		{"ray", 0, []objects.PodOption{byDefault, objects.Labelled("ray.io/cluster", "head")}, "muster+", "muster+", 0},
		{"kubeflow", 0, []objects.PodOption{byDefault, objects.Labelled("training.kubeflow.org/job-name", "mpi")}, "muster+", "muster+", 0},
		{"of-a-job", 0, []objects.PodOption{byDefault, objects.Labelled("batch.kubernetes.io/job-name", "load")},
			"default-scheduler", "muster+", 0},
		{"ray-elsewhere", 0, []objects.PodOption{third, objects.Labelled("ray.io/cluster", "head")}, "third", "third", 0},
		{"ray-daemon", 0, []objects.PodOption{byDefault, objects.Labelled("ray.io/cluster", "head"), ownedBy("apps/v1", "DaemonSet")},
			"default-scheduler", "default-scheduler", 0},
		{"job", 2, []objects.PodOption{byDefault, ownedBy("batch/v1", "Job")}, "muster+", "muster+", 0},
		{"daemon", 2, []objects.PodOption{byDefault, ownedBy("apps/v1", "DaemonSet")}, "default-scheduler", "default-scheduler", 0},
		{"third", 2, []objects.PodOption{third}, "third", "third", 0},
		{"placed", 2, []objects.PodOption{byDefault, onNode}, "default-scheduler", "default-scheduler", 0},
		{"gated", 2, []objects.PodOption{byDefault, objects.WithGate(otherGate)}, "muster+", "muster+", 1},
		{"by-hand", 2, []objects.PodOption{objects.Gated}, "muster+", "muster+", 0},
		{"own", 2, []objects.PodOption{byDefault, objects.Labelled("app.kubernetes.io/name", "muster")},
			"muster+", "muster+", 0},
	}
	for _, value := range []string{"gpu", "all"} {
		e.scheduleLabel(value)
		for _, c := range cases {
			pod, err := e.dryRun(objects.Pod(e.ns, c.name, c.gpus, c.options...))
			if err != nil {
				e.t.Errorf("%s under %s: %v", c.name, value, err)
				continue
			}
			got, others := pod.Spec.SchedulerName, 0
			for _, gate := range pod.Spec.SchedulingGates {
				if gate.Name == gangGate {
					got += "+"
				} else {
					others++
				}
			}
			want := map[string]string{"gpu": c.gpu, "all": c.all}[value]
			if got != want || others != c.otherGates {
				e.t.Errorf("%s under %s is %s with %d other gates, not %s with %d", c.name, value, got, others, want, c.otherGates)
			}
		}
	}
}

func TestAJobOfALabelledNamespaceIsAGangByPolicy(t *testing.T)  { takenJob(taking(t, false)) }
func TestAJobOfALabelledNamespaceIsAGangByWebhook(t *testing.T) { takenJob(taking(t, true)) }

// takenJob runs a Job that knows nothing of Muster, and takes the label away while it waits.
func takenJob(e *env) {
	e.addGPUNodes(1)
	e.scheduleLabel("gpu")
	e.plainJobBy(objects.Default, "train", 4)
	e.eventually(30*time.Second, "the Job has its pods, of Muster's, behind the gate", func() error {
		pods, err := e.podsOfJob("train")
		if err == nil && len(pods) != 4 {
			err = errorf("it has %d", len(pods))
		}
		for _, pod := range pods {
			if pod.Spec.SchedulerName != objects.Muster || len(pod.Spec.SchedulingGates) != 1 {
				err = errorf("%s has schedulerName %s and gates %v", pod.Name, pod.Spec.SchedulerName, pod.Spec.SchedulingGates)
			}
		}
		return err
	})
	e.scheduleLabel("")
	e.always(3*time.Second, "no pod starts where only two of four have room", func() error {
		pods, err := e.podsOfJob("train")
		if err == nil && countBound(pods) > 0 {
			err = errorf("%d are bound", countBound(pods))
		}
		return err
	})
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.eventually(30*time.Second, "all pods are bound though the label is gone", func() error {
		pods, err := e.podsOfJob("train")
		if err == nil && countBound(pods) != 4 {
			err = errorf("%d are bound", countBound(pods))
		}
		return err
	})
}

// The webhook fails open: what is created while Muster is away has the default scheduler for good, and that is said.
func TestPodsThatTheWebhookMissedAreReported(t *testing.T) {
	e := taking(t, true)
	e.scheduleLabel("gpu")
	e.muster.Process.Kill()
	<-e.muster.Process.Done()
	missed := objects.Pod(e.ns, "missed", 1, objects.By(objects.Default))
	third := objects.Pod(e.ns, "third", 1, objects.By("third"))
	plain := objects.Pod(e.ns, "plain", 0, objects.By(objects.Default))
	e.addPods(missed, third, plain)
	e.must(e.muster.Restart(e.ctx))
	e.eventually(60*time.Second, "the missed pod has an Event", func() error {
		told, err := e.toldMissed()
		if err == nil && strings.Join(told, " ") != "missed" {
			err = errorf("of these it was said: %v", told)
		}
		return err
	})
	if count, err := e.muster.Metric("muster_missed_pods_total"); err != nil || count != 1 {
		e.t.Errorf("muster_missed_pods_total is %v, %v", count, err)
	}
	e.scheduleLabel("gpu") // returns when the webhook takes pods again
}

// toldMissed are the pods with an Event that says that Muster does not schedule them.
func (e *env) toldMissed() ([]string, error) {
	events, err := e.Client.EventsV1().Events(e.ns).List(e.ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	var pods []string
	for _, event := range events.Items {
		if event.Reason == "NotScheduledByMuster" && event.Regarding.Kind == "Pod" {
			pods = append(pods, event.Regarding.Name)
		}
	}
	return pods, nil
}

// applyForTheTest applies a folder of manifests/admission until the test is over.
func (e *env) applyForTheTest(name string) {
	e.t.Helper()
	root, err := controlplane.Root()
	e.must(err)
	folder := root + "/manifests/admission/" + name
	_, err = e.Kubectl(e.ctx, "", "apply", "-k", folder)
	e.must(err)
	e.t.Cleanup(func() {
		if _, err := e.Kubectl(e.ctx, "", "delete", "-k", folder); err != nil {
			e.t.Error(err)
		}
	})
}

// manifests/admission/other-schedulers, which an administrator may apply.
func TestGPUPodsOfOtherSchedulersAreRefusedWhereTheAdministratorSaysSo(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.applyForTheTest("other-schedulers")
	third := objects.By("third")
	create := func(name string, gpus int, options ...objects.PodOption) error {
		_, err := e.dryRun(objects.Pod(e.ns, name, gpus, options...))
		return err
	}
	e.must(create("unlabelled", 1, third))
	_, err := e.Client.CoreV1().Namespaces().Patch(e.ctx, e.ns, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"muster.dev/schedule":"gpu"}}}`), metav1.PatchOptions{})
	e.must(err)
	e.eventually(30*time.Second, "GPU pods of another scheduler are refused", func() error {
		err := create("third", 1, third)
		if err == nil || !strings.Contains(err.Error(), "expected schedulerName muster, found third") {
			return errorf("%v", err)
		}
		return nil
	})
	if err := create("by-itself", 1, onNode); err == nil || !strings.Contains(err.Error(), "expected no spec.nodeName, found some-node") {
		t.Errorf("a GPU pod that names Muster and its node: %v", err)
	}
	for name, create := range map[string]error{
		"muster's":       create("musters", 1),
		"without GPUs":   create("plain", 0, third),
		"of a DaemonSet": create("daemon", 1, third, ownedBy("apps/v1", "DaemonSet")),
	} {
		if create != nil {
			t.Errorf("a pod %s is refused: %v", name, create)
		}
	}
	if err := create("share", 0, third, objects.Annotated("gpu-memory", "1000")); err == nil {
		t.Error("a pod with a share of a GPU is not refused")
	}
	if tested() != controlplane.Older {
		e.must(create("taken", 1, objects.By(objects.Default)))
	}
	_, err = e.Kubectl(e.ctx, "", "patch", "validatingadmissionpolicybinding", "muster-other-schedulers", "--type=merge",
		`--patch={"spec":{"validationActions":["Warn","Audit"]}}`)
	e.must(err)
	e.eventually(30*time.Second, "with Warn they are created", func() error { return create("warned", 1, third) })
}
