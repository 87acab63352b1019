package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"

	"muster.dev/e2e/objects"
)

const thief = "thief"

// A stream of pods of the gang's own priority that are in nobody's queue but kube-scheduler's: without Muster's gate.
func (e *env) sendThieves(count int, make func(i int) *corev1.Pod) {
	e.t.Helper()
	for i := range count {
		pod := make(i)
		pod.Labels[thief] = "true"
		e.addPods(pod)
		e.must(retry.OnError(retry.DefaultBackoff, func(error) bool { return true }, func() error { return e.openGate(pod.Name) }))
	}
}

// thievesOn are those that took a node on which the gang is nominated or bound.
func (e *env) thievesOn(g objects.Gang) error {
	members, err := e.pods(g)
	if err != nil {
		return err
	}
	ours := map[string]bool{}
	for _, pod := range members {
		ours[pod.Status.NominatedNodeName] = true
		ours[pod.Spec.NodeName] = true
	}
	delete(ours, "")
	thieves, err := e.list(thief + "=true")
	for _, pod := range thieves {
		if ours[pod.Spec.NodeName] {
			return errorf("%s took %s", pod.Name, pod.Spec.NodeName)
		}
	}
	return err
}

func TestUngatedPodsOfTheSamePriorityTakeNoGPUThatAGangIsNominatedFor(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	g := e.gang("g", 4, 8)
	hold := e.reserve(g)
	e.sendThieves(10, func(i int) *corev1.Pod { return objects.Pod(e.ns, fmt.Sprintf("%s-%d", thief, i), 1) })
	e.always(5*time.Second, "the nominated nodes stay free", func() error { return e.thievesOn(g) })
	hold.Remove()
	e.whole(30*time.Second, g)
	e.must(e.thievesOn(g))
	e.thievesFollow(g, 10)
}

// thievesFollow ends the gang, and waits until all thieves have its room.
func (e *env) thievesFollow(g objects.Gang, count int) {
	e.t.Helper()
	e.end(g)
	e.eventually(30*time.Second, "the others follow when the gang has ended", func() error {
		pods, err := e.list(thief + "=true")
		if n := countBound(pods); err == nil && n != count {
			return errorf("%d of %d are bound", n, count)
		}
		return err
	})
}

// In the cluster's own kube-scheduler, where Muster is asked about pods with GPUs alone: kube-scheduler itself must keep
// CPU and memory of nominated pods from those that Muster never hears of.
func TestPodsThatMusterIsNeverAskedAboutTakeNoCPUThatAGangIsNominatedFor(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.asTheClustersOwnScheduler()
	e.addGPUNodes(4)
	g := e.gang("g", 8, 4, objects.Requesting(corev1.ResourceCPU, "60")) // two of them leave 8 of 128
	hold := e.reserve(g)
	e.sendThieves(20, func(i int) *corev1.Pod {
		return objects.Pod(e.ns, fmt.Sprintf("%s-%d", thief, i), 0, objects.By("own"), objects.Requesting(corev1.ResourceCPU, "16"))
	})
	e.always(5*time.Second, "the nominated nodes keep their CPUs", func() error { return e.thievesOn(g) })
	hold.Remove()
	e.whole(30*time.Second, g)
	e.must(e.thievesOn(g))
}

// asTheClustersOwnScheduler runs one kube-scheduler for both kinds of pods, as docs/how-to/default-scheduler.md describes it, in the place
// of the second one.
func (e *env) asTheClustersOwnScheduler() {
	e.t.Helper()
	before := e.schedulerSpec
	own := before
	own.Config = strings.Replace(own.Config, "\nprofiles:\n", "\nprofiles:\n- schedulerName: own\n", 1)
	own.Config = strings.Replace(own.Config, "  enableHTTPS: true\n",
		"  enableHTTPS: true\n  managedResources:\n  - {name: nvidia.com/gpu, ignoredByScheduler: false}\n", 1)
	if !strings.Contains(own.Config, "schedulerName: own") || !strings.Contains(own.Config, "managedResources:\n") {
		e.t.Fatal("manifests/scheduler/config.yaml looks different now")
	}
	// Both profiles of one kube-scheduler keep the same plugins off.
	own.Config = strings.Replace(own.Config, "- schedulerName: own\n",
		"- schedulerName: own\n  plugins: {multiPoint: {disabled: [{name: DefaultPreemption}]}}\n", 1)
	restart := func() {
		e.scheduler.Stop(10 * time.Second)
		e.must(e.startSchedulerOfMuster(e.ctx))
	}
	e.schedulerSpec = own
	e.t.Cleanup(func() {
		e.schedulerSpec = before
		restart()
	})
	restart()
}

// Two kube-schedulers do not see each other's nominations (docs/how-to/install.md says so). A gang whose CPUs are taken by pods of
// the other one is then placed elsewhere, whole.
func TestAGangWhoseNodeAnotherSchedulerFilledIsPlacedElsewhereWhole(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(6)
	g := e.gang("g", 4, 8, objects.Requesting(corev1.ResourceCPU, "100"))
	hold := e.reserve(g)
	members, err := e.pods(g)
	e.must(err)
	taken := members[0].Status.NominatedNodeName
	robber := objects.Pod(e.ns, "robber", 0, objects.By(objects.Default), objects.Requesting(corev1.ResourceCPU, "64"),
		objects.OnNodesWith("kubernetes.io/hostname", taken))
	e.addPods(robber)
	e.eventually(20*time.Second, "the other scheduler took the node", func() error {
		pods, err := e.list("")
		for _, pod := range pods {
			if pod.Name == "robber" && pod.Spec.NodeName == taken {
				return err
			}
		}
		return errorf("it has not: %v", err)
	})
	hold.Remove()
	e.whole(60*time.Second, g)
	members, err = e.pods(g)
	e.must(err)
	for _, pod := range members {
		if pod.Spec.NodeName == taken {
			t.Errorf("%s went to %s all the same", pod.Name, taken)
		}
	}
}

// Room that comes free piece by piece: who is next gets all of it, and nobody slips in meanwhile.
func TestInStrictOrderWhatIsBeingLeftIsKeptForTheGangThatIsNext(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("strictOrder: true")
	e.addGPUNodes(2)
	leaving := e.gang("leaving", 2, 8, objects.Lingering)
	e.add(leaving)
	e.whole(30*time.Second, leaving)
	next := e.gang("next", 2, 8)
	e.add(next)
	e.eventually(15*time.Second, "the next one waits for GPUs", func() error {
		if why := e.why(next); !strings.Contains(why, "NotEnoughGpus") {
			return errorf("%s", why)
		}
		return nil
	})
	e.must(e.Client.CoreV1().Pods(e.ns).DeleteCollection(e.ctx, metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: objects.GangLabel + "=" + leaving.Name}))
	e.sendThieves(10, func(i int) *corev1.Pod { return objects.Pod(e.ns, fmt.Sprintf("%s-%d", thief, i), 1) })
	nobodyCame := func() error {
		pods, err := e.list(thief + "=true")
		if n := countBound(pods); err == nil && n > 0 {
			err = errorf("%d did", n)
		}
		return err
	}
	e.always(3*time.Second, "nobody takes what is not free yet", nobodyCame)
	e.must(e.letGo(leaving.Pod(0).Name))
	e.always(3*time.Second, "nobody takes the half that is", nobodyCame)
	e.must(e.letGo(leaving.Pod(1).Name))
	e.whole(30*time.Second, next)
	e.must(nobodyCame())
}

// letGo takes away the label that keeps a deleted pod from going.
func (e *env) letGo(pod string) error {
	_, err := e.Kubectl(e.ctx, "", "-n", e.ns, "label", "pod", pod, objects.KubeletLabel+"-")
	return err
}
