package suite

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// Upgrade, rollback, and replicas of two releases side by side. The older one is built from what previous_release names, and its
// manifests are applied too. The auditor judges: no GPU twice, no gang that stays partial.

// rollout is Muster's Deployment while it is updated: the test starts and ends replicas of two releases, and the Service leads to
// the one that leads.
type rollout struct {
	*env
	older, newer muster.Release

	mu  sync.Mutex
	all []*replica
}

// rollsOut is a control plane with the older release's manifests and no replica yet.
func rollsOut(t *testing.T) *rollout {
	t.Helper()
	slow(t)
	older, err := muster.Previous()
	if err != nil {
		t.Skipf("the release before this one is not built: %v", err)
	}
	newer, err := muster.Tested()
	if err != nil {
		t.Fatal(err)
	}
	w := bare(t, worldOptions{upgrades: true})
	w.upgradesOnce.Do(func() {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		w.upgradesErr = w.prepareUpgrades(ctx, older)
	})
	if w.upgradesErr != nil {
		t.Fatalf("no control plane for upgrades: %v", w.upgradesErr)
	}
	r := &rollout{env: in(t, w), older: older, newer: newer}
	ctx, cancel := context.WithCancel(r.ctx)
	t.Cleanup(func() {
		cancel()
		r.mu.Lock()
		defer r.mu.Unlock()
		r.service.Lead("")
		for _, one := range r.all {
			one.Process.Stop(20 * time.Second)
			one.proxy.Close()
		}
	})
	go r.follow(ctx)
	r.manifestsOf(older)
	return r
}

// prepareUpgrades makes all of Muster's surroundings that are the same in both releases.
func (w *world) prepareUpgrades(ctx context.Context, older muster.Release) error {
	var err error
	if w.files, err = muster.MakeCertificates(ctx, w.ControlPlane); err != nil {
		return err
	}
	if err := muster.Apply(ctx, w.ControlPlane, older.Overlay(w.Options.Version)); err != nil {
		return err
	}
	if w.service, err = muster.NewService(); err != nil {
		return err
	}
	return w.startSchedulerOfMuster(ctx)
}

func (r *rollout) follow(ctx context.Context) {
	for ctx.Err() == nil {
		r.mu.Lock()
		all := append([]*replica(nil), r.all...)
		r.mu.Unlock()
		target := ""
		if leader := r.labelled(all); leader != nil {
			target = addressOf(leader.Server)
		}
		if ctx.Err() == nil {
			r.service.Lead(target)
		}
		time.Sleep(200 * time.Millisecond)
	}
}

// manifestsOf applies them, as `kubectl apply -k` of docs/how-to/upgrade.md does.
func (r *rollout) manifestsOf(release muster.Release) {
	r.t.Helper()
	r.must(muster.Apply(r.ctx, r.ControlPlane, release.Overlay(r.Options.Version)))
}

// start adds a replica.
func (r *rollout) start(release muster.Release, name string) *replica {
	r.t.Helper()
	one := r.newReplicaOf(release, name)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.all = append(r.all, one)
	return one
}

// leads waits until a replica leads.
func (r *rollout) leads(one *replica) {
	r.t.Helper()
	r.eventually(takeover, one.name+" leads", func() error {
		if r.labelled([]*replica{one}) == nil {
			return errorf("it does not")
		}
		leads, err := one.Metric("muster_leader")
		if err == nil && leads != 1 {
			err = errorf("muster_leader is %g", leads)
		}
		return err
	})
}

// startsHalf adds a gang and returns when the leader has bound two of its members; the other calls are held.
func (r *rollout) startsHalf(leader *replica, g objects.Gang) *proxy.Active {
	r.t.Helper()
	hold := leader.proxy.Add(proxy.Fault{Match: proxy.Bind.In(r.ns), Skip: 2, Hold: true})
	r.add(g)
	r.reached(hold, 30*time.Second)
	r.eventually(15*time.Second, "two members are bound", func() error {
		if n := r.bound(g); n != 2 {
			return errorf("%d are", n)
		}
		return nil
	})
	return hold
}

// kept is what must not move.
type kept struct {
	gang objects.Gang
	pods []corev1.Pod
}

func (r *rollout) keep(g objects.Gang) kept {
	r.t.Helper()
	pods, err := r.pods(g)
	r.must(err)
	return kept{g, pods}
}

func (r *rollout) unmoved(all ...kept) error {
	for _, k := range all {
		if err := r.samePlaces(k.gang, k.pods); err != nil {
			return err
		}
		if err := r.isWhole(k.gang); err != nil {
			return err
		}
	}
	return nil
}

// holdsNothing: none of its members has a node.
func (r *rollout) holdsNothing(g objects.Gang) error {
	if n := r.bound(g); n > 0 {
		return errorf("%d members of %s are bound", n, g.Name)
	}
	return nil
}

// The older release runs with two replicas, is replaced by the newer one while gangs run, start and wait, and comes back.
func TestAnUpgradeAndARollbackLoseNothing(t *testing.T) {
	r := rollsOut(t)
	r.addGPUNodes(8)
	oldLeader := r.start(r.older, "old-0")
	r.leads(oldLeader)
	oldStandby := r.start(r.older, "old-1")

	runs, waits := r.gang("runs", 8, 4), r.gang("waits", 8, 8)
	r.add(runs)
	r.whole(30*time.Second, runs)
	r.add(waits)
	unmoved := []kept{r.keep(runs)}

	// Upgrade: the manifests, then one replica after the other.
	first := r.gang("starts-in-the-upgrade", 4, 4)
	hold := r.startsHalf(oldLeader, first)
	uids := r.uids(first)
	r.manifestsOf(r.newer)
	oldStandby.Process.Stop(20 * time.Second)
	newLeader := r.start(r.newer, "new-0")
	oldLeader.Process.Stop(20 * time.Second)
	hold.Remove()
	r.leads(newLeader)
	newStandby := r.start(r.newer, "new-1")
	r.whole(takeover, first)
	r.sameUIDs(first, uids)
	unmoved = append(unmoved, r.keep(first))
	r.must(r.unmoved(unmoved...))
	r.must(r.holdsNothing(waits))

	// What the newer one starts.
	fresh := r.gang("of-the-newer", 4, 2)
	r.add(fresh)
	r.whole(30*time.Second, fresh)
	unmoved = append(unmoved, r.keep(fresh))

	// Rollback, in the same way.
	second := r.gang("starts-in-the-rollback", 4, 2)
	hold = r.startsHalf(newLeader, second)
	uids = r.uids(second)
	r.manifestsOf(r.older)
	newStandby.Process.Stop(20 * time.Second)
	back := r.start(r.older, "back-0")
	newLeader.Process.Stop(20 * time.Second)
	hold.Remove()
	r.leads(back)
	r.whole(takeover, second)
	r.sameUIDs(second, uids)
	unmoved = append(unmoved, r.keep(second))
	r.always(5*time.Second, "nothing has moved, and what waits holds nothing", func() error {
		if err := r.holdsNothing(waits); err != nil {
			return err
		}
		return r.unmoved(unmoved...)
	})

	// What waited through both starts when there is room.
	for _, k := range unmoved {
		r.end(k.gang)
	}
	r.whole(60*time.Second, waits)
}

// A replica of each release, in every order: who leads first, and how its lead ends.
func TestReplicasOfTwoReleasesHandOverToEachOther(t *testing.T) {
	for _, first := range []string{"the older", "the newer"} {
		for _, end := range []string{"is told to stop", "is killed"} {
			t.Run(fmt.Sprintf("%s leads and %s", first, end), func(t *testing.T) {
				r := rollsOut(t)
				leads, follows := r.older, r.newer
				if first == "the newer" {
					leads, follows = r.newer, r.older
				}
				r.manifestsOf(r.newer)
				r.addGPUNodes(6)
				leader := r.start(leads, "first")
				r.leads(leader)
				standby := r.start(follows, "second")
				runs, waits, starts := r.gang("runs", 4, 8), r.gang("waits", 5, 8), r.gang("starts", 4, 4)
				r.add(runs)
				r.whole(30*time.Second, runs)
				r.add(waits)
				unmoved := r.keep(runs)
				hold := r.startsHalf(leader, starts)
				uids := r.uids(starts)
				if end == "is killed" {
					leader.Process.Kill()
				} else {
					leader.Process.Stop(20 * time.Second)
				}
				hold.Remove()
				r.leads(standby)
				r.whole(takeover, starts)
				r.sameUIDs(starts, uids)
				r.must(r.unmoved(unmoved))
				r.must(r.holdsNothing(waits))
				r.end(runs)
				r.end(starts)
				r.whole(60*time.Second, waits)
			})
		}
	}
}

// What the newer release knows and the older one does not: gangs by owner, conditions of the CRD, fields of the policy.
func TestWhatOnlyTheNewerReleaseKnowsDoesNoHarmAfterARollback(t *testing.T) {
	r := rollsOut(t)
	r.manifestsOf(r.newer)
	r.addGPUNodes(2)
	newer := r.start(r.newer, "new")
	r.leads(newer)
	r.plainJob("train", 4)
	var running []corev1.Pod
	r.eventually(60*time.Second, "the Job has started, as a gang by its owner", func() (err error) {
		running, err = r.podsOfJob("train")
		if n := countBound(running); err == nil && n != 4 {
			err = errorf("%d of its pods are bound", n)
		}
		return err
	})
	stuck := r.gang("stuck", 2, 8)
	r.add(stuck)
	conditions := func() (list []any, err error) {
		group, err := r.Dynamic.Resource(stuck.GroupResource()).Namespace(r.ns).Get(r.ctx, stuck.Name, metav1.GetOptions{})
		if err == nil {
			list, _, err = unstructured.NestedSlice(group.Object, "status", "conditions")
		}
		return list, err
	}
	r.eventually(30*time.Second, "the PodGroup has a condition that says why it waits", func() error {
		list, err := conditions()
		if err == nil && len(list) == 0 {
			err = errorf("it has none")
		}
		return err
	})

	// The older one does not start with a policy that it does not know.
	future := r.file("future.yaml", "apiVersion: muster.dev/v1alpha1\nkind: Policy\nautoscaling:\n  scaleUp: unschedulable\n")
	if said, err := exec.CommandContext(r.ctx, r.older.Binary, "check-policy", future).CombinedOutput(); err == nil ||
		!strings.Contains(string(said), "autoscaling") {
		t.Errorf("check-policy of the older release says %q, %v", said, err)
	}

	refuses, err := muster.New(r.ctx, r.ControlPlane, muster.Options{Name: "old-refuses", Files: r.files, Policy: future, Release: r.older})
	r.must(err)
	r.must(refuses.Start())
	select {
	case <-refuses.Process.Done():
	case <-time.After(15 * time.Second):
		t.Error("the older release starts with a policy that it does not know")
		refuses.Process.Kill()
	}

	r.manifestsOf(r.older)
	older := r.start(r.older, "old")
	newer.Process.Stop(20 * time.Second)
	r.leads(older)
	r.always(5*time.Second, "the Job's pods stay, and the other gang holds nothing", func() error {
		now, err := r.podsOfJob("train")
		if err == nil {
			err = samePlacesAs(now, running)
		}
		if err == nil {
			err = r.holdsNothing(stuck)
		}
		return err
	})
	if list, err := conditions(); err != nil || len(list) != 0 {
		t.Errorf("conditions that nobody writes any more are left: %v, %v", list, err)
	}
	for _, pod := range running {
		r.must(r.succeeds(pod))
	}
	r.whole(60*time.Second, stuck)
}

// succeeds lets one pod end well.
func (e *env) succeeds(pod corev1.Pod) error {
	_, err := e.Client.CoreV1().Pods(pod.Namespace).Patch(e.ctx, pod.Name, types.MergePatchType,
		[]byte(`{"status":{"phase":"Succeeded"}}`), metav1.PatchOptions{}, "status")
	return err
}

// The older release knows no gangs by owner: it has started two pods of four. The newer one leaves them where they are.
func TestPodsOfAJobThatTheOlderReleaseStartedOneByOneStay(t *testing.T) {
	r := rollsOut(t)
	r.addGPUNodes(1)
	older := r.start(r.older, "old")
	r.leads(older)
	r.plainJob("train", 4)
	var before []corev1.Pod
	r.eventually(60*time.Second, "two of four pods run", func() (err error) {
		before, err = r.podsOfJob("train")
		if n := countBound(before); err == nil && (n != 2 || len(before) != 4) {
			err = errorf("%d of %d are bound", n, len(before))
		}
		return err
	})
	r.manifestsOf(r.newer)
	newer := r.start(r.newer, "new")
	older.Process.Stop(20 * time.Second)
	r.leads(newer)
	// Longer than a gang may be partly bound before its members are evicted.
	r.always(partialDeadline+10*time.Second, "both stay, and nothing else is bound", func() error {
		now, err := r.podsOfJob("train")
		if err == nil {
			err = samePlacesAs(now, before)
		}
		return err
	})
	r.addNodes(objects.Nodes(r.ns+"-more", 1, 8)...)
	r.eventually(60*time.Second, "the rest starts when there is room", func() error {
		now, err := r.podsOfJob("train")
		if n := countBound(now); err == nil && n != 4 {
			err = errorf("%d are bound", n)
		}
		return err
	})
}
