package suite

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

const queueName = "muster.dev/queue"

// Two nodes of eight GPUs, half of which each of two teams is guaranteed.
func withTeams(t *testing.T, more ...string) *env {
	t.Helper()
	e := in(t, mustered(t, worldOptions{}))
	e.definePriorities()
	e.setTeams(`queues:
- {name: research, guarantee: {gpu: 8}}
- {name: prod, guarantee: {gpu: 8}}
- {name: guests}
` + strings.Join(more, ""))
	e.addGPUNodes(2)
	return e
}

// setTeams writes a policy with queues, and takes it back when the test is over.
func (e *env) setTeams(text string) {
	e.t.Helper()
	loaded := func(wanted bool) func() error {
		return func() error {
			policy, err := e.muster.Policy()
			if err == nil && strings.Contains(policy, "name: research") != wanted {
				err = errorf("it is\n%s", policy)
			}
			return err
		}
	}
	e.must(e.writePolicy(text))
	e.t.Cleanup(func() {
		if err := e.writePolicy(""); err != nil {
			e.t.Errorf("the policy is not put back: %v", err)
		}
		e.eventually(15*time.Second, "the policy is put back", loaded(false))
	})
	e.eventually(15*time.Second, "the policy is loaded", loaded(true))
}

func (e *env) teamGang(name, queue string, members, gpus int, options ...objects.PodOption) objects.Gang {
	return e.gang(name, members, gpus, append([]objects.PodOption{objects.Annotated(queueName, queue)}, options...)...)
}

// waitsFor fails unless muster says that of the gang.
func (e *env) waitsFor(g objects.Gang, reason string) {
	e.t.Helper()
	e.eventually(30*time.Second, g.Name+" waits for "+reason, func() error {
		if why := e.why(g); !strings.Contains(why, reason) {
			return errorf("%s", why)
		}
		return nil
	})
}

// runsOn fails if a pod of the gang is evicted.
func (e *env) runsOn(lasting time.Duration, g objects.Gang) {
	e.t.Helper()
	e.always(lasting, g.Name+" runs on", func() error {
		pods, err := e.pods(g)
		if err == nil && len(pods) != g.Members {
			return errorf("%d of %d pods are there", len(pods), g.Members)
		}
		for _, pod := range pods {
			if pod.DeletionTimestamp != nil {
				return errorf("%s is evicted", pod.Name)
			}
		}
		return err
	})
}

func TestATeamBorrowsWhatIsIdleAndItsOwnerTakesItBack(t *testing.T) {
	e := withTeams(t)
	first := e.teamGang("first", "prod", 1, 8)
	e.add(first)
	e.whole(30*time.Second, first)
	time.Sleep(1100 * time.Millisecond) // starts are told in seconds
	second := e.teamGang("second", "prod", 2, 4)
	e.add(second)
	e.whole(30*time.Second, second) // beyond the guarantee
	mine := e.teamGang("mine", "research", 2, 4)
	e.add(mine)
	e.whole(60*time.Second, mine)
	e.runsOn(3*time.Second, first)
	// Research has its guarantee; what is prod's it does not get.
	more := e.teamGang("more", "research", 1, 8)
	e.add(more)
	e.waitsFor(more, "NotEnoughGpus")
	e.runsOn(5*time.Second, first)
}

func TestWithinATeamPriorityDecidesAndBetweenTeamsItDoesNot(t *testing.T) {
	e := withTeams(t)
	low := e.teamGang("low", "research", 1, 8)
	other := e.teamGang("other", "prod", 1, 8)
	e.add(low, other)
	e.whole(30*time.Second, low, other)
	urgent := e.teamGang("urgent", "research", 1, 8, objects.WithPriorityClass(urgentClass))
	e.add(urgent)
	e.whole(60*time.Second, urgent)
	e.runsOn(3*time.Second, other)
}

// withBudgetsKept is withTeams where budgets of guests are kept whoever takes back a guarantee.
func withBudgetsKept(t *testing.T) *env {
	t.Helper()
	e := in(t, mustered(t, worldOptions{}))
	e.definePriorities()
	e.setTeams(`queues:
- {name: research, guarantee: {gpu: 8}}
- {name: prod, guarantee: {gpu: 8}}
- {name: guests, preemption: {budgets: {guarantee: keep}}}
`)
	e.addGPUNodes(2)
	return e
}

// A tenant with a budget that lets nobody go gives back what another team is guaranteed: the eviction API refuses, so the pods
// are deleted, marked as disrupted. A gang without a budget goes first.
func TestABudgetDoesNotBeatAGuarantee(t *testing.T) {
	e := withTeams(t)
	plain := e.teamGang("plain", "guests", 1, 8)
	e.add(plain)
	e.whole(30*time.Second, plain)
	time.Sleep(2 * time.Second) // what is lost counts in seconds: the next one would go first
	guest := e.teamGang("guest", "guests", 2, 4, objects.Lingering)
	e.add(guest)
	e.whole(30*time.Second, guest)
	e.protect(guest, "keep", 2)
	first := e.teamGang("first", "research", 1, 8)
	e.add(first)
	e.whole(60*time.Second, first)
	e.runsOn(5*time.Second, guest)
	second := e.teamGang("second", "prod", 1, 8)
	e.add(second)
	e.eventually(60*time.Second, "the pods with a budget are deleted, and marked", func() error {
		pods, err := e.pods(guest)
		if err == nil && len(pods) != 2 {
			err = errorf("%d are there", len(pods))
		}
		for _, pod := range pods {
			marked := false
			for _, condition := range pod.Status.Conditions {
				marked = marked || condition.Type == corev1.DisruptionTarget && condition.Status == corev1.ConditionTrue &&
					condition.Reason == corev1.PodReasonPreemptionByScheduler
			}
			if pod.DeletionTimestamp == nil || !marked {
				return errorf("%s: %v, %v", pod.Name, pod.DeletionTimestamp, pod.Status.Conditions)
			}
		}
		return err
	})
	e.told(e.ns, "GangPreempted", "in spite of PodDisruptionBudget "+e.ns+"/keep, which allows 0 disruptions")
	for i := range 2 {
		e.must(e.letGo(guest.Pod(i).Name))
	}
	e.whole(60*time.Second, second)
}

func TestABudgetKeepsAnotherTeamsGangFromBeingReclaimed(t *testing.T) {
	e := withBudgetsKept(t)
	guest := e.teamGang("guest", "guests", 2, 8)
	e.add(guest)
	e.whole(30*time.Second, guest)
	e.protect(guest, "keep", 1)
	mine := e.teamGang("mine", "research", 1, 8)
	e.add(mine)
	e.waitsFor(mine, "DisruptionBudget")
	if why := e.why(mine); !strings.Contains(why, "kept by PodDisruptionBudget "+e.ns+"/keep, which allows 1 disruption") {
		t.Errorf("it says %s", why)
	}
	e.runsOn(8*time.Second, guest)
	e.must(e.Client.PolicyV1().PodDisruptionBudgets(e.ns).Delete(e.ctx, "keep", metav1.DeleteOptions{}))
	e.whole(60*time.Second, mine)
}

func TestWhatIsReclaimedIsKeptFromAStreamOfSmallPods(t *testing.T) {
	e := withTeams(t)
	guest := e.teamGang("guest", "guests", 2, 8, objects.Lingering)
	e.add(guest)
	e.whole(30*time.Second, guest)
	mine := e.teamGang("mine", "research", 1, 8)
	e.add(mine)
	e.waitsFor(mine, "VictimsLeaving")
	e.sendThieves(10, gpuThief(e))
	e.always(3*time.Second, "nobody takes what is not free yet", e.noThiefCame)
	pods, err := e.pods(mine)
	e.must(err)
	node := pods[0].Status.NominatedNodeName
	for i := range 2 {
		e.must(e.letGo(guest.Pod(i).Name))
	}
	e.whole(30*time.Second, mine)
	pods, err = e.pods(mine)
	e.must(err)
	if pods[0].Spec.NodeName != node {
		t.Errorf("it is on %s, and %s was freed for it", pods[0].Spec.NodeName, node)
	}
}

func TestAGangIsLeftAloneForItsMinRuntime(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setTeams(`queues:
- {name: research, guarantee: {gpu: 16}}
- {name: guests, preemption: {minRuntime: {reclaim: 30s}}}
`)
	e.addGPUNodes(2)
	guest := e.teamGang("guest", "guests", 2, 8)
	e.add(guest)
	e.whole(30*time.Second, guest)
	mine := e.teamGang("mine", "research", 2, 8)
	e.add(mine)
	e.waitsFor(mine, "MinRuntime")
	e.runsOn(10*time.Second, guest)
	e.whole(60*time.Second, mine)
}
