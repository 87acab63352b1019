package suite

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// A Lease that nobody renews runs out after 15 s, and a new leader makes sure of that for itself. A call that
// kube-scheduler has sent to the paused leader over a connection that was open comes to nothing only after httpTimeout.
const (
	leaseDuration = 15 * time.Second
	takeover      = 150 * time.Second
)

// replica is one of two musters, each with its own way to the API server and a pod of its own to label.
type replica struct {
	*muster.Server
	name  string
	proxy *proxy.Proxy
}

// twoReplicas puts two musters in the place of the one; the Service leads to the one whose pod says that it leads and
// that answers probes.
func (e *env) twoReplicas() (leader, follower *replica) {
	e.t.Helper()
	e.muster.Process.Stop(20 * time.Second)
	both := []*replica{e.newReplica("muster-0"), e.newReplica("muster-1")}
	ctx, cancel := context.WithCancel(e.ctx)
	e.t.Cleanup(func() { // before clean() starts the one again
		cancel()
		for _, r := range both {
			r.Process.Stop(20 * time.Second)
			r.proxy.Close()
		}
		e.service.Lead(addressOf(e.muster))
	})
	go e.followLeader(ctx, both)
	e.eventually(takeover, "one of two leads", func() error {
		leader = e.labelled(both)
		if leader == nil {
			return errorf("no pod has the label muster.dev/leader")
		}
		return nil
	})
	follower = both[0]
	if leader == both[0] {
		follower = both[1]
	}
	return leader, follower
}

func (e *env) newReplica(name string) *replica {
	e.t.Helper()
	return e.newReplicaOf(muster.Release{}, name)
}

// newReplicaOf starts one of that release; none: of the one that is tested.
func (e *env) newReplicaOf(release muster.Release, name string) *replica {
	e.t.Helper()
	p, err := proxy.Start(e.URL, e.CA.File, e.CA)
	e.must(err)
	pods := e.Client.CoreV1().Pods(muster.Namespace)
	_, err = pods.Create(e.ctx, replicaPod(name), metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		_ = pods.Delete(context.Background(), name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	})
	s, err := muster.New(e.ctx, e.ControlPlane, muster.Options{
		Name: name, Files: e.files, URL: p.URL, CA: e.CA.File, Pod: name, Release: release,
	})
	e.must(err)
	e.must(s.Start())
	ctx, cancel := context.WithTimeout(e.ctx, readyDeadline)
	defer cancel()
	e.must(s.WaitReady(ctx))
	return &replica{Server: s, name: name, proxy: p}
}

// replicaPod is as the manifests' Deployment makes it, in what matters here; nobody schedules it.
func replicaPod(name string) *corev1.Pod {
	yes, no, user := true, false, int64(65532)
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: muster.Namespace, Name: name, Labels: map[string]string{
			"app.kubernetes.io/name": "muster", "app.kubernetes.io/component": "extender",
		}},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody", ServiceAccountName: muster.Account, AutomountServiceAccountToken: &no,
			SecurityContext: &corev1.PodSecurityContext{
				RunAsNonRoot: &yes, RunAsUser: &user, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
			},
			Containers: []corev1.Container{{Name: "muster", Image: "muster", SecurityContext: &corev1.SecurityContext{
				AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
			}}},
		},
	}
}

func (e *env) labelled(both []*replica) *replica {
	for _, r := range both {
		pod, err := e.Client.CoreV1().Pods(muster.Namespace).Get(e.ctx, r.name, metav1.GetOptions{})
		if err == nil && pod.Labels["muster.dev/leader"] == "true" && answersProbes(r.Server) {
			return r
		}
	}
	return nil
}

// followLeader does what the Service of the manifests does with the leader's label and the kubelet's probes.
func (e *env) followLeader(ctx context.Context, both []*replica) {
	for ctx.Err() == nil {
		if leader := e.labelled(both); leader != nil {
			e.service.Lead(addressOf(leader.Server))
		} else if ctx.Err() == nil {
			e.service.Lead("")
		}
		time.Sleep(200 * time.Millisecond)
	}
}

var probe = &http.Client{Timeout: 500 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}

func answersProbes(s *muster.Server) bool {
	response, err := probe.Get(s.MetricsURL + "/readyz")
	if err != nil {
		return false
	}
	response.Body.Close()
	return response.StatusCode == http.StatusOK
}

func TestALeaderThatLosesItsLeaseInTheMidstOfBindingIsReplacedAndBindsNothingMore(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	leader, _ := e.twoReplicas()
	g := e.gang("g", 8, 4)
	hold := leader.proxy.Add(proxy.Fault{Match: proxy.Bind.In(e.ns), Skip: 2, Hold: true})
	e.add(g)
	e.reached(hold, 30*time.Second)
	leader.proxy.Add(proxy.Fault{Match: proxy.LeaseCall, Drop: true})
	uids := e.uids(g)
	e.whole(takeover, g)
	before, err := e.pods(g)
	e.must(err)
	hold.Remove() // late binds go out now, if anyone still waits for them
	e.always(3*time.Second, "late binds change nothing", func() error { return e.samePlaces(g, before) })
	e.sameUIDs(g, uids)
}

func TestALeaderThatWasPausedAndComesBackChangesNothing(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(8)
	leader, _ := e.twoReplicas()
	g, next := e.gang("g", 8, 4), e.gang("next", 8, 4)
	// Two of eight are bound, the other calls never leave the machine on which everything stands still.
	pause := leader.proxy.Add(proxy.Fault{Match: proxy.Bind.In(e.ns), Skip: 2, Before: leader.Process.Pause, Drop: true})
	e.add(g)
	e.reached(pause, 30*time.Second)
	e.eventually(10*time.Second, "two of eight are bound", func() error {
		if n := e.bound(g); n != 2 {
			return errorf("%d are bound", n)
		}
		return nil
	})
	// kube-scheduler waits for answers from the paused one until its pings find out, or httpTimeout ends, so the new leader
	// may not be asked about the rest in time; then it takes back the part that is bound, 60 s after it took over.
	e.auditor.Allow(g.Key(), leaseDuration+partialDeadline)
	e.eventually(takeover, "the gang is whole or holds nothing", func() error {
		if n := e.bound(g); n > 0 && n < g.Members {
			return errorf("%d of %d are bound", n, g.Members)
		}
		return nil
	})
	pause.Remove()
	e.add(next)
	e.whole(takeover, next)
	places, err := e.list("")
	e.must(err)
	binds := leader.proxy.Count("create pods/binding")
	leader.Process.Resume()
	e.always(5*time.Second, "everything stays where it is", func() error {
		now, err := e.list("")
		if err != nil {
			return err
		}
		return samePlacesAs(now, places)
	})
	if n := leader.proxy.Count("create pods/binding"); n > binds {
		t.Errorf("the old leader sent %d more binds when it came back", n-binds)
	}
}

func TestALeaderThatIsToldToStopHandsOverAtOnce(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	leader, follower := e.twoReplicas()
	g, first := e.gang("g", 8, 4), e.gang("first", 8, 4)
	gangs := func() float64 {
		n, err := follower.Metric("muster_gangs")
		e.must(err)
		return n
	}
	e.add(first)
	e.whole(10*time.Second, first)
	if n := gangs(); n != 0 {
		t.Errorf("the follower shows %v gangs, so that a sum over both counts them twice", n)
	}
	e.delete(first)
	leader.Process.Stop(20 * time.Second)
	begin := time.Now()
	e.add(g)
	e.whole(10*time.Second, g)
	if n := gangs(); n < 1 {
		t.Errorf("the new leader shows %v gangs", n)
	}
	t.Logf("a gang created when the leader had ended was whole after %s", time.Since(begin).Round(100*time.Millisecond))
}

func (e *env) samePlaces(g objects.Gang, want []corev1.Pod) error {
	now, err := e.pods(g)
	if err != nil {
		return err
	}
	return samePlacesAs(now, want)
}

func samePlacesAs(now, want []corev1.Pod) error {
	if len(now) != len(want) {
		return errorf("%d pods exist instead of %d", len(now), len(want))
	}
	for i := range now {
		if now[i].UID != want[i].UID || now[i].Spec.NodeName != want[i].Spec.NodeName ||
			now[i].Annotations["muster.dev/gpus"] != want[i].Annotations["muster.dev/gpus"] {
			return errorf("%s has changed: from %s to %s", now[i].Name, placeOf(want[i]), placeOf(now[i]))
		}
	}
	return nil
}

func placeOf(pod corev1.Pod) string {
	return fmt.Sprintf("node %q, GPUs %q, UID %s", pod.Spec.NodeName, pod.Annotations["muster.dev/gpus"], pod.UID)
}
