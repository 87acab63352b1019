package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"muster.dev/e2e/objects"
)

// What bounds Jobs that are gangs without a PodGroup is changed while they wait or run.

func TestAJobWithoutAGroupWhosePodsAQuotaRefusesWaitsAndStartsWholeWhenItIsRaised(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	e.setQuota(3)
	train := e.ownedGang("train", 4)
	waits := func() error { return e.staysWaiting(train, 3) }
	e.eventually(30*time.Second, "three pods are there", waits)
	e.waitsFor(train, "ResourceQuota")
	e.always(5*time.Second, "none starts without the fourth", waits)
	e.setQuota(4)
	e.whole(90*time.Second, train) // the Job controller tries again, less and less often
}

func TestAJobWithoutAGroupStaysWholeWhenAQuotaIsLoweredWhileItWaitsOrRuns(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.ownedGang("train", 4)
	waits := func() error { return e.staysWaiting(train, 4) }
	e.eventually(30*time.Second, "it waits", waits)
	e.setQuota(2) // its pods exist, and are charged
	e.always(2*time.Second, "it waits", waits)
	e.addNodes(objects.Nodes(e.ns+"-more", 1, 8)...)
	e.whole(30*time.Second, train)
	e.setQuota(1)
	e.always(3*time.Second, "it stays", func() error { return e.isWhole(train) })
	e.evictedNobodySince(mark)
}

// limitTeam lets research have so many GPUs, and waits until that is in force.
func (e *env) limitTeam(gpus int) {
	e.t.Helper()
	limit := fmt.Sprintf("gpu: %d", gpus)
	e.setTeams(fmt.Sprintf("queues:\n- {name: research, namespaces: {names: [%s]}, limit: {%s}}\n- {name: guests}\n", e.ns, limit))
	e.eventually(15*time.Second, "the limit is in force", func() error {
		policy, err := e.muster.Policy()
		if err == nil && !strings.Contains(policy, limit) {
			err = errorf("it is\n%s", policy)
		}
		return err
	})
}

func TestAJobWithoutAGroupFollowsItsQueuesLimitWhileItWaitsAndRuns(t *testing.T) {
	slow(t)
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(3)
	mark, err := e.audit.Now()
	e.must(err)
	e.limitTeam(16)
	runs := e.ownedGang("runs", 2)
	e.whole(30*time.Second, runs)
	train := e.ownedGang("train", 4)
	e.waitsFor(train, "QueueLimit")
	waits := func() error { return e.staysWaiting(train, 4) }
	e.limitTeam(12) // less than the Job asks for
	e.waitsFor(train, "Unsatisfiable")
	e.limitTeam(20) // room for three of its four
	e.waitsFor(train, "QueueLimit")
	e.always(3*time.Second, "it waits, all of it", waits)
	e.limitTeam(24)
	e.whole(30*time.Second, train)
	e.limitTeam(8)
	e.always(3*time.Second, "what runs stays", func() error {
		if err := e.isWhole(runs); err != nil {
			return err
		}
		return e.isWhole(train)
	})
	e.evictedNobodySince(mark)
}
