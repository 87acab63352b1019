package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// What kube-scheduler says of a node where a pod has that disk.
const noDisk = "node(s) had no available disk"

// withDisk gives the pod a disk that only one pod of a node may have. kube-scheduler alone looks at that: it asks no
// extender where no node passes, and Muster plans without it.
func withDisk(pod *corev1.Pod) {
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "disk", VolumeSource: corev1.VolumeSource{
		ISCSI: &corev1.ISCSIVolumeSource{TargetPortal: "10.0.0.1:3260", IQN: "iqn.2026-11.dev.muster:disk", Lun: 0},
	}})
}

// holdDisks has a pod with the disk run on every node of the test, beside its GPUs; what comes back lets them go.
func (e *env) holdDisks() func() {
	e.t.Helper()
	nodes, err := e.Client.CoreV1().Nodes().List(e.ctx, metav1.ListOptions{LabelSelector: testLabel + "=" + e.ns})
	e.must(err)
	var holders []*corev1.Pod
	for i, node := range nodes.Items {
		pod := objects.Pod(e.ns, fmt.Sprintf("disk-%d", i), 0, objects.By(objects.Default), withDisk, objects.Labelled("disk", "held"))
		pod.Spec.NodeName = node.Name
		holders = append(holders, pod)
	}
	e.addPods(holders...)
	return func() {
		e.t.Helper()
		for _, pod := range holders {
			e.deletePod(pod.Name)
		}
	}
}

// refusedBy waits until kube-scheduler's sentence is the gang's reason, and its plan is given back.
func (e *env) refusedBy(g objects.Gang) {
	e.t.Helper()
	var released time.Time
	e.eventually(40*time.Second, "kube-scheduler's words are the reason", func() error {
		pods, err := e.pods(g)
		if err != nil {
			return err
		}
		if released.IsZero() && len(pods[0].Spec.SchedulingGates) == 0 {
			released = time.Now()
		}
		if why := e.why(g); !strings.Contains(why, "Backoff, Refused") || !strings.Contains(why, noDisk) {
			return errorf("%s", why)
		}
		for _, pod := range pods {
			if pod.Status.NominatedNodeName != "" || pod.Spec.NodeName != "" {
				return errorf("%s still has %q, %q", pod.Name, pod.Status.NominatedNodeName, pod.Spec.NodeName)
			}
		}
		return nil
	})
	e.t.Logf("given back %v after its release", time.Since(released))
	if late := time.Since(released); late > 10*time.Second { // 5 s, and as long again for a slow machine
		e.t.Errorf("its plan was given back %v after its release", late)
	}
}

func TestAGangThatKubeSchedulerRefusesIsGivenBackAndStartsWhenTheCauseGoes(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	letGo := e.holdDisks()
	g := e.gang("g", 2, 8, withDisk)
	e.add(g)
	e.refusedBy(g)
	e.describes(20*time.Second, "podgroups.scheduling.x-k8s.io", g.Name, "Refused", "GangBackoff", noDisk)
	e.always(10*time.Second, "it waits", func() error {
		if why := e.why(g); !strings.Contains(why, "Backoff, Refused") {
			return errorf("%s", why)
		}
		return nil
	})
	start := time.Now()
	letGo()
	e.whole(15*time.Second, g)
	t.Logf("started %v after the cause was gone", time.Since(start))
}

func TestNobodyIsEvictedAgainForAGangThatKubeSchedulerRefused(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.definePriorities()
	e.setPolicy("preemption: lowerPriority")
	e.addGPUNodes(2)
	letGo := e.holdDisks()
	urgent := e.gang("urgent", 2, 8, withDisk, objects.WithPriorityClass(urgentClass))
	e.add(urgent)
	e.refusedBy(urgent)
	old := e.gang("old", 2, 8) // in its place
	e.add(old)
	e.whole(30*time.Second, old)
	e.addPods(objects.Pod(e.ns, "other", 0))
	e.eventually(20*time.Second, "a pod comes and goes", func() error {
		pods, err := e.list("")
		for _, pod := range pods {
			if pod.Name == "other" && pod.Spec.NodeName != "" {
				return nil
			}
		}
		return errorf("it has no node: %v", err)
	})
	e.deletePod("other")
	e.always(15*time.Second, "nobody is evicted", func() error {
		pods, err := e.pods(old)
		if err == nil && (len(pods) != 2 || pods[0].DeletionTimestamp != nil || pods[1].DeletionTimestamp != nil) {
			err = errorf("one is; %s", e.why(urgent))
		}
		return err
	})
	letGo()
	e.whole(25*time.Second, urgent)
}

func TestBindCallsThatAreHeldAreAnsweredWhenAnotherMemberIsRefused(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	letGo := e.holdDisks()
	g := e.gang("g", 2, 8)
	e.addGroup(g)
	pods := g.Pods()
	withDisk(pods[1])
	e.addPods(pods...)
	e.refusedBy(g)
	e.eventually(10*time.Second, "the call that was held is answered", func() error {
		pods, err := e.pods(g)
		if err != nil {
			return err
		}
		for _, c := range pods[0].Status.Conditions {
			if c.Type == corev1.PodScheduled && strings.Contains(c.Message, noDisk) {
				return nil
			}
		}
		return errorf("its conditions: %v", pods[0].Status.Conditions)
	})
	letGo()
	e.whole(15*time.Second, g)
}

// kube-scheduler asks an extender about no pod while every node is full.
func TestAGangOfTheClustersOwnSchedulerPreemptsWhileTheClusterIsFull(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.asTheClustersOwnScheduler()
	e.definePriorities()
	e.setPolicy("preemption: lowerPriority")
	e.addGPUNodes(2)
	old := e.gang("old", 2, 8, objects.By("own"))
	e.add(old)
	e.whole(30*time.Second, old)
	urgent := e.gang("urgent", 2, 8, objects.By("own"), objects.WithPriorityClass(urgentClass))
	e.add(urgent)
	e.whole(40*time.Second, urgent)
	if n := e.bound(old); n != 0 {
		t.Errorf("%d of those that had to go are there", n)
	}
}
