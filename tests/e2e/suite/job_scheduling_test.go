package suite

import (
	"strings"
	"testing"
	"time"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// jobOfGroup makes a Job for which the Job controller makes a PodGroup of Kubernetes' own, as spec.scheduling says.
func jobOfGroup(t *testing.T, nodes int, policy string) (*env, objects.Gang) {
	t.Helper()
	slow(t) // has a control plane of its own
	onVersion(t, controlplane.Newest, "a Job's spec.scheduling")
	e := in(t, mustered(t, worldOptions{jobs: true}))
	e.addGPUNodes(nodes)
	spec := ""
	if policy != "" {
		spec = "scheduling: {schedulingPolicy: " + policy + "}"
	}
	train := e.ownedGang("train", 4, spec)
	e.auditor.Forget(train.Key()) // each test says how many start together
	e.eventually(30*time.Second, "its pods name a PodGroup", func() error {
		pods, err := e.pods(train)
		for _, pod := range pods {
			if pod.Spec.SchedulingGroup == nil {
				return errorf("%s names none", pod.Name)
			}
		}
		if err == nil && len(pods) != 4 {
			err = errorf("%d pods are there", len(pods))
		}
		return err
	})
	return e, train
}

// oneGroup waits until Muster has the four pods as one group, named by the Job controller, which needs so many.
func (e *env) oneGroup(minimum int) {
	e.t.Helper()
	e.eventually(30*time.Second, "Muster knows the PodGroup and nothing else", func() error {
		gangs, alone, err := e.gangsHere()
		if err == nil && (len(gangs) != 1 || len(alone) != 0 || !strings.HasPrefix(gangs[0].Name, "train-") ||
			gangs[0].Pods != 4 || gangs[0].MinMember != minimum) {
			err = errorf("gangs %s and alone %s", show(gangs), show(alone))
		}
		return err
	})
}

func TestAJobWhoseSchedulingAsksForAGangStartsWhole(t *testing.T) {
	e, train := jobOfGroup(t, 1, "{gang: {}}")
	e.oneGroup(4)
	e.always(5*time.Second, "half of it does not start", func() error { return e.staysWaiting(train, 4) })
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.whole(30*time.Second, train)
}

func TestAJobWhoseSchedulingAsksForAGangIsSuspendedAndResumedWhole(t *testing.T) {
	e, train := jobOfGroup(t, 2, "{gang: {}}")
	e.whole(30*time.Second, train)
	e.suspend(true)
	e.gone(train)
	other := e.gang("other", 3, 4)
	e.add(other)
	e.whole(30*time.Second, other)
	e.suspend(false)
	waits := func() error { return e.staysWaiting(train, 4) }
	e.eventually(30*time.Second, "it has its pods again", waits)
	e.always(5*time.Second, "it waits whole", waits)
	e.end(other)
	e.whole(30*time.Second, train)
}

func TestAJobWhoseSchedulingAsksForFewerStartsWithThese(t *testing.T) {
	e, train := jobOfGroup(t, 1, "{gang: {minCount: 2}}")
	e.oneGroup(2)
	e.waitBound(30*time.Second, train, 2)
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.whole(30*time.Second, train)
}

func TestAJobWhoseSchedulingIsBasicStartsOneByOne(t *testing.T) {
	e, train := jobOfGroup(t, 1, "{basic: {}}")
	e.waitBound(30*time.Second, train, 2)
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.whole(30*time.Second, train)
}

// The Job controller gives it a PodGroup all the same, a basic one.
func TestAJobThatSaysNothingOfSchedulingStartsWhereThePodGroupsAreMade(t *testing.T) {
	e, train := jobOfGroup(t, 2, "")
	e.whole(30*time.Second, train)
}

// kube-scheduler holds all pods of such a group back as long as one of them is gated.
func TestANativeGroupThatNeedsFewerThanItHasStartsWithThese(t *testing.T) {
	onVersion(t, controlplane.Newest, objects.Native.Name)
	e := in(t, mustered(t, worldOptions{native: true}))
	e.addGPUNodes(1)
	g := e.gang("g", 4, 4)
	g.MinMember, g.Flavour = 2, objects.Native
	e.add(g)
	e.waitBound(30*time.Second, g, 2)
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.whole(30*time.Second, g)
}
