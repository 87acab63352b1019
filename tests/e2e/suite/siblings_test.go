package suite

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/audit"
	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// Ordinary days of a cluster: what owners of pods, quotas and nodes do beside Muster. No gang is evicted, gets stuck or
// stays half placed for it.

func (e *env) evictedNobodySince(mark audit.Mark) {
	e.t.Helper()
	time.Sleep(time.Second) // until the log is written
	writes, err := e.audit.Since(mark)
	e.must(err)
	if n := writes[audit.Muster]["create pods/eviction"]; n > 0 {
		e.t.Errorf("%d evictions: %s", n, writes[audit.Muster])
	}
}

// wroteAtMostSince counts what Muster itself wrote, once that is in the log.
func (e *env) wroteAtMostSince(mark audit.Mark, most int) {
	e.t.Helper()
	writes, err := e.audit.Since(mark)
	e.must(err)
	if n := writes[audit.Muster].Total(); n > most {
		e.t.Errorf("%d writes: %s", n, writes[audit.Muster])
	}
}

// stay are the gang's pods that nobody has deleted.
func (e *env) stay(g objects.Gang) ([]corev1.Pod, error) {
	pods, err := e.pods(g)
	var out []corev1.Pod
	for _, pod := range pods {
		if pod.DeletionTimestamp == nil {
			out = append(out, pod)
		}
	}
	return out, err
}

// staysWaiting: the pods that nobody has deleted are so many, and none has a node.
func (e *env) staysWaiting(g objects.Gang, members int) error {
	pods, err := e.stay(g)
	if bound := countBound(pods); err == nil && (len(pods) != members || bound > 0) {
		err = errorf("%d pods are there, %d of them bound; %s", len(pods), bound, e.why(g))
	}
	return err
}

// wholeAgain waits until every pod that nobody has deleted has a node, and all members are there.
func (e *env) wholeAgain(within time.Duration, g objects.Gang) {
	e.t.Helper()
	e.eventually(within, g.Name+" is whole again", func() error {
		pods, err := e.stay(g)
		if bound := countBound(pods); err == nil && (len(pods) != g.Members || bound != g.Members) {
			err = errorf("%d pods are there, %d of them bound; %s", len(pods), bound, e.why(g))
		}
		return err
	})
}

func (e *env) suspend(yes bool) {
	e.t.Helper()
	_, err := e.Client.BatchV1().Jobs(e.ns).Patch(e.ctx, "train", types.MergePatchType,
		[]byte(fmt.Sprintf(`{"spec":{"suspend":%t}}`, yes)), metav1.PatchOptions{})
	e.must(err)
}

func (e *env) gone(g objects.Gang) {
	e.t.Helper()
	e.eventually(30*time.Second, "the pods of "+g.Name+" have gone", func() error {
		pods, err := e.pods(g)
		if err == nil && len(pods) > 0 {
			err = errorf("%d are there", len(pods))
		}
		return err
	})
}

// isResumedBehind: the Job is suspended while it runs, another gang takes its room, and it waits whole for so long, and until
// that one has ended.
func (e *env) isResumedBehind(other, train objects.Gang, wait time.Duration) {
	e.t.Helper()
	e.whole(30*time.Second, train)
	e.add(other)
	e.always(3*time.Second, "the other one waits", func() error { return e.staysWaiting(other, 3) })
	e.suspend(true)
	e.whole(30*time.Second, other)
	uids := e.uids(other)
	e.suspend(false)
	e.eventually(30*time.Second, "the Job has recreated its pods", func() error { return e.staysWaiting(train, 4) })
	e.always(wait, "they wait, all of them, and the other one stays", func() error {
		if err := e.staysWaiting(train, 4); err != nil {
			return err
		}
		return e.isWhole(other)
	})
	e.sameUIDs(other, uids)
	e.end(other)
	e.wholeAgain(30*time.Second, train)
}

// isResumedBesideOld: its new pods wait until the last of those old ones, which take their time to end, has gone.
func (e *env) isResumedBesideOld(train objects.Gang, old []corev1.Pod) {
	e.t.Helper()
	e.suspend(true)
	e.eventually(30*time.Second, "its pods are ending", func() error { return e.staysWaiting(train, 0) })
	e.suspend(false)
	waits := func() error { return e.staysWaiting(train, 4) }
	e.eventually(30*time.Second, "the Job has made new pods", waits)
	e.always(3*time.Second, "none has a node while all old ones are there", waits)
	for _, pod := range old[1:] {
		e.must(e.letGo(pod.Name))
		e.always(2*time.Second, "none has a node before there is room for all", waits)
	}
	e.must(e.letGo(old[0].Name))
	e.wholeAgain(60*time.Second, train)
}

// As Kueue does it: made suspended, let run, stopped and let run once more.
func TestAJobThatIsSuspendedAndResumedStartsWholeAgain(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.sample(func(text string) string {
		return strings.Replace(text, "  backoffLimit: 3\n", "  backoffLimit: 3\n  suspend: true\n", 1)
	})
	e.suspend(false)
	e.whole(30*time.Second, train)
	e.eventually(15*time.Second, "it runs", func() error { return e.allRun(train) })
	e.suspend(true)
	e.gone(train)
	e.suspend(false)
	e.wholeAgain(30*time.Second, train)
	e.eventually(15*time.Second, "it runs again", func() error { return e.allRun(train) })
	e.must(e.letJobPodsEnd(train))
	e.eventually(60*time.Second, "the Job is complete", func() error { return succeeded(e.job()) })
	e.evictedNobodySince(mark)
	if job := e.job(); job.Status.Failed != 0 {
		t.Errorf("the Job counts %d failures", job.Status.Failed)
	}
}

func TestAJobThatIsResumedWaitsWholeForTheGangThatTookItsRoom(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.sample(func(text string) string { return text })
	e.isResumedBehind(e.gang("other", 3, 2), train, 10*time.Second) // that leaves room for one member of the Job
	e.evictedNobodySince(mark)
}

// A Job without podReplacementPolicy Failed, which a podFailurePolicy implies, makes new pods beside those that are ending.
func TestAJobThatIsResumedWhileItsOldPodsEndStartsWholeWhenTheyHaveGone(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	mark, err := e.audit.Now()
	e.must(err)
	train := e.sample(func(text string) string {
		return strings.Replace(withoutPodFailurePolicy(t, text), objects.KubeletLabel+": runs", objects.KubeletLabel+": lingers", 1)
	})
	e.whole(30*time.Second, train)
	e.eventually(15*time.Second, "it runs", func() error { return e.allRun(train) })
	old, err := e.pods(train)
	e.must(err)
	e.isResumedBesideOld(train, old)
	e.evictedNobodySince(mark)
}

func withoutPodFailurePolicy(t *testing.T, text string) string {
	t.Helper()
	from, to := strings.Index(text, "  podFailurePolicy:"), strings.Index(text, "  template:\n")
	if from < 0 || to < from {
		t.Fatal("the sample has no podFailurePolicy before its template")
	}
	return text[:from] + text[to:]
}

// controls plays a controller that recreates the gang's pods under their names as soon as these are free, until stop or
// the test's end.
func (e *env) controls(g objects.Gang, owners ...metav1.OwnerReference) (stop func()) {
	end, ended := make(chan struct{}), make(chan struct{})
	pods := e.Client.CoreV1().Pods(e.ns)
	go func() {
		defer close(ended)
		for {
			taken := e.names(g)
			for i := range g.Members {
				pod := g.Pod(i)
				if taken == nil || taken[pod.Name] {
					continue // a call that is refused because of the name would count against a quota all the same
				}
				pod.OwnerReferences = owners
				if tested() == controlplane.Older {
					objects.Gated(pod)
				}
				_, err := pods.Create(e.ctx, pod, metav1.CreateOptions{})
				if err != nil && !apierrors.IsForbidden(err) { // by the quota
					e.t.Errorf("%s is not made: %v", pod.Name, err)
				}
			}
			select {
			case <-end:
				return
			case <-time.After(200 * time.Millisecond):
			}
		}
	}()
	stop = sync.OnceFunc(func() {
		close(end)
		<-ended
	})
	e.t.Cleanup(stop)
	return stop
}

// names are those of the gang's pods; nil: they could not be read.
func (e *env) names(g objects.Gang) map[string]bool {
	pods, err := e.pods(g)
	if err != nil {
		return nil
	}
	out := map[string]bool{}
	for _, pod := range pods {
		out[pod.Name] = true
	}
	return out
}

// setQuota says how many pods the namespace may have, and waits until that is in force.
func (e *env) setQuota(most int64) {
	e.t.Helper()
	quotas := e.Client.CoreV1().ResourceQuotas(e.ns)
	amount := *resource.NewQuantity(most, resource.DecimalSI)
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: amount}}}
	_, err := quotas.Create(e.ctx, quota, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		_, err = quotas.Patch(e.ctx, "team", types.MergePatchType,
			[]byte(fmt.Sprintf(`{"spec":{"hard":{"pods":"%d"}}}`, most)), metav1.PatchOptions{})
	}
	e.must(err)
	e.eventually(30*time.Second, "the quota is in force", func() error {
		quota, err := quotas.Get(e.ctx, "team", metav1.GetOptions{})
		if hard := quota.Status.Hard[corev1.ResourcePods]; err == nil && hard.Cmp(amount) != 0 {
			err = errorf("it is %s", hard.String())
		}
		return err
	})
}

// lackAMember runs a gang of four whose lost member may not be recreated: the quota lets three pods be.
func (e *env) lackAMember() (g objects.Gang, left map[string]types.UID) {
	e.t.Helper()
	e.addGPUNodes(1)
	g = e.gang("g", 4, 2)
	e.add(g)
	e.whole(30*time.Second, g)
	e.setQuota(3)
	e.deletePod(g.Pod(1).Name)
	left = e.uids(g)
	e.controls(g)
	return g, left
}

func TestAGangWhoseReplacementAQuotaRefusedForAWhileIsCompleted(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	mark, err := e.audit.Now()
	e.must(err)
	g, left := e.lackAMember()
	e.always(10*time.Second, "the three that are left stay", func() error {
		pods, err := e.pods(g)
		if err == nil && (len(pods) != 3 || countBound(pods) != 3) {
			err = errorf("%d pods are there, %d of them bound; %s", len(pods), countBound(pods), e.why(g))
		}
		return err
	})
	e.setQuota(4)
	e.whole(30*time.Second, g)
	now := e.uids(g)
	for name, uid := range left {
		if now[name] != uid {
			t.Errorf("%s is another pod now", name)
		}
	}
	e.evictedNobodySince(mark)
}

func TestAGangWhoseReplacementAQuotaRefusesIsTakenBackAndStartsWholeWhenItIsRaised(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("partialTimeout: 5s")
	g, left := e.lackAMember()
	isNew := func() error {
		for name, uid := range e.uids(g) {
			if left[name] == uid {
				return errorf("%s is still there; %s", name, e.why(g))
			}
		}
		return nil
	}
	e.eventually(30*time.Second, "the three that are left are taken back", isNew)
	passed := false // kube-controller-manager counts a quota's use from its cache, and may let one pod too many pass
	waits := func() error {
		pods, err := e.stay(g)
		passed = passed || len(pods) == 4
		if bound := countBound(pods); err == nil && !passed && (len(pods) != 3 || bound > 0) {
			err = errorf("%d pods are there, %d of them bound; %s", len(pods), bound, e.why(g))
		}
		return err
	}
	e.eventually(30*time.Second, "they are recreated", waits)
	e.always(10*time.Second, "they wait for the fourth", waits)
	if passed {
		t.Log("the quota let the fourth pass: that it is raised decides nothing")
		e.whole(30*time.Second, g)
	}
	e.setQuota(4)
	e.whole(30*time.Second, g)
}

// As JobSet restarts its Jobs and LeaderWorkerSet its groups. The room is for one gang.
func TestAGangAllOfWhosePodsAreDeletedAndMadeAnewStartsWhole(t *testing.T) {
	for _, c := range []struct {
		name   string
		owned  bool
		linger bool
	}{
		{"without an owner", false, false},
		{"by a new owner", true, false},
		{"as their names come free one by one", false, true},
		{"by a new owner as their names come free one by one", true, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			e.addGPUNodes(2)
			g, waits := e.gang("g", 4, 4), e.gang("waits", 2, 8)
			if c.linger {
				g.Options = []objects.PodOption{objects.Lingering}
			}
			mark, err := e.audit.Now()
			e.must(err)
			owners := func(name string) []metav1.OwnerReference {
				if !c.owned {
					return nil
				}
				return []metav1.OwnerReference{e.owner(name)}
			}
			e.addGroup(g)
			stop := e.controls(g, owners("first")...)
			e.whole(30*time.Second, g)
			e.add(waits)
			stop()
			old := e.uids(g)
			e.must(e.Client.CoreV1().Pods(e.ns).DeleteCollection(e.ctx, metav1.DeleteOptions{},
				metav1.ListOptions{LabelSelector: objects.GangLabel + "=" + g.Name}))
			e.controls(g, owners("second")...)
			if c.linger {
				for i := range g.Members {
					e.always(2*time.Second, "no recreated pod has a node before all are", func() error {
						pods, err := e.stay(g)
						if n := countBound(pods); err == nil && n > 0 {
							err = errorf("%d do; %s", n, e.why(g))
						}
						return err
					})
					e.must(e.letGo(g.Pod(i).Name))
				}
			}
			e.eventually(60*time.Second, "one of the two gangs is whole, and the other holds nothing", func() error {
				ours, err := e.pods(g)
				for _, pod := range ours {
					if old[pod.Name] == pod.UID {
						return errorf("%s is still there", pod.Name)
					}
				}
				if err == nil && !(countBound(ours) == 4 && e.bound(waits) == 0 || countBound(ours) == 0 && e.bound(waits) == 2) {
					err = errorf("%d of 4 and %d of 2 are bound; %s; %s", countBound(ours), e.bound(waits), e.why(g), e.why(waits))
				}
				return err
			})
			e.evictedNobodySince(mark)
			if e.bound(waits) == 2 {
				e.end(waits)
			}
			e.whole(60*time.Second, g)
		})
	}
}

// owner makes an object that pods can belong to.
func (e *env) owner(name string) metav1.OwnerReference {
	e.t.Helper()
	made, err := e.Client.CoreV1().ConfigMaps(e.ns).Create(e.ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{})
	e.must(err)
	yes := true
	return metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: made.UID, Controller: &yes}
}

// A kubelet that is updated: its node is not ready for a while, and the pods on it go on.
func TestNobodyIsEvictedWhileTheKubeletOfANodeRestarts(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("partialTimeout: 5s") // nothing of the gang counts as lost
	e.addGPUNodes(2)
	g, waits := e.gang("g", 4, 4), e.gang("waits", 1, 8)
	e.add(g)
	e.whole(30*time.Second, g)
	e.eventually(15*time.Second, "it runs", func() error { return e.allRun(g) })
	e.add(waits)
	before, err := e.pods(g)
	e.must(err)
	mark, err := e.audit.Now()
	e.must(err)
	node := before[0].Spec.NodeName
	stays := func() error {
		if n := e.bound(waits); n > 0 {
			return errorf("the gang that waits has %d members bound", n)
		}
		return e.samePlaces(g, before)
	}
	e.must(e.patchNodeStatus(node, objects.Ready(false)))
	e.always(20*time.Second, "every pod stays where it is", stays)
	e.must(e.patchNodeStatus(node, objects.Ready(true)))
	e.always(10*time.Second, "and when the node is ready again", stays)
	e.evictedNobodySince(mark)
	e.end(g)
	e.whole(60*time.Second, waits)
}
