package suite

import (
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

const hold, resume = `{"state":"hold"}`, `{"state":"open"}`

// order sends an operator's order; an empty token is sent by nobody.
func (e *env) order(token, path, body string) (int, string) {
	e.t.Helper()
	request, err := http.NewRequestWithContext(e.ctx, http.MethodPost, e.muster.MetricsURL+path, strings.NewReader(body))
	e.must(err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	response, err := http.DefaultClient.Do(request)
	e.must(err)
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	e.must(err)
	return response.StatusCode, string(text)
}

func (e *env) ordered(token, path, body string) {
	e.t.Helper()
	if status, text := e.order(token, path, body); status != http.StatusOK {
		e.t.Fatalf("%s %s: %d %s", path, body, status, text)
	}
}

// refused fails unless the order is, with these words.
func (e *env) refused(status int, words, token, path, body string) {
	e.t.Helper()
	if got, text := e.order(token, path, body); got != status || !strings.Contains(text, words) {
		e.t.Fatalf("%s %s: %d %s, not %d with %q", path, body, got, text, status, words)
	}
}

// account makes a service account of the test's namespace; its token.
func (e *env) account(name string) string {
	e.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}
	_, err := e.Client.CoreV1().ServiceAccounts(e.ns).Create(e.ctx, account, metav1.CreateOptions{})
	e.must(err)
	token, err := e.Token(e.ctx, e.ns, name)
	e.must(err)
	return token
}

// operator may do what the manifests' sample lets operators do; its token.
func (e *env) operator(name string) string {
	e.t.Helper()
	token := e.account(name)
	root, err := controlplane.Root()
	e.must(err)
	_, err = e.Kubectl(e.ctx, "", "apply", "-f", filepath.Join(root, "manifests/samples/operators.yaml"))
	e.must(err)
	binding := e.ns + "-" + name
	_, err = e.Kubectl(e.ctx, "", "create", "clusterrolebinding", binding, "--clusterrole=muster-operator",
		"--serviceaccount="+e.ns+":"+name)
	e.must(err)
	e.t.Cleanup(func() {
		if _, err := e.Kubectl(e.ctx, "", "delete", "clusterrolebinding", binding); err != nil {
			e.t.Errorf("%v", err)
		}
	})
	return token
}

// setQueues gives the policy queues that the namespace may use, until the test ends.
func (e *env) setQueues(queues string) {
	e.t.Helper()
	e.must(e.writePolicy("queues:\n" + queues))
	e.t.Cleanup(func() {
		if err := e.writePolicy(""); err != nil {
			e.t.Errorf("the policy is not put back: %v", err)
		}
		// The next test is to find no queues in which gangs are evicted.
		e.eventually(15*time.Second, "the policy is put back", func() error {
			policy, err := e.muster.Policy()
			if err == nil && strings.Contains(policy, "name: research") {
				err = errorf("it is\n%s", policy)
			}
			return err
		})
	})
	e.eventually(15*time.Second, "the policy is loaded", func() error {
		policy, err := e.muster.Policy()
		if err == nil && !strings.Contains(policy, "name: research") {
			err = errorf("it is\n%s", policy)
		}
		return err
	})
}

func (e *env) waits(within time.Duration, g objects.Gang, reason string) {
	e.t.Helper()
	e.eventually(within, g.Name+" waits with "+reason, func() error {
		gang, err := e.muster.Gang(g.Namespace, g.Name)
		if err == nil && gang.Reason.Code != reason {
			err = errorf("%s", e.why(g))
		}
		return err
	})
}

// told waits for an Event with that reason and these words.
func (e *env) told(ns, reason, words string) {
	e.t.Helper()
	e.eventually(15*time.Second, "Event "+reason, func() error {
		events, err := e.Client.EventsV1().Events(ns).List(e.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == reason && strings.Contains(event.Note, words) {
				return nil
			}
		}
		return errorf("none of %d says %q", len(events.Items), words)
	})
}

func TestOrdersAreTakenFromWhomRBACLets(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setQueues("- {name: research}\n- {name: edu}\n")
	ann, bob := e.operator("ann"), e.account("bob")
	const state = "/v1/queues/edu/state"
	e.refused(http.StatusForbidden, "the request to update queues/state.muster.dev does not say who sends it", "", state, hold)
	e.refused(http.StatusForbidden, "does not know the bearer token", "made-up", state, hold)
	e.refused(http.StatusForbidden, `may not update queues/state.muster.dev \"edu\"`, bob, state, hold)
	broken := e.proxy.Add(proxy.Fault{Match: proxy.Of("authentication.k8s.io/v1"), Status: http.StatusInternalServerError})
	e.refused(http.StatusServiceUnavailable, "nothing is done", ann, state, hold)
	broken.Remove()
	e.ordered(ann, state, hold)
	e.ordered(ann, state, resume)
	// A right on one queue is a right on that one.
	_, err := e.Kubectl(e.ctx, "", "create", "clusterrole", e.ns+"-edu", "--verb=update",
		"--resource=queues.muster.dev/state", "--resource-name=edu")
	if err != nil { // kubectl asks the API server whether the resource is served
		_, err = e.Kubectl(e.ctx, `{"apiVersion":"rbac.authorization.k8s.io/v1","kind":"ClusterRole","metadata":{"name":"`+e.ns+`-edu"},
			"rules":[{"apiGroups":["muster.dev"],"resources":["queues/state"],"resourceNames":["edu"],"verbs":["update"]}]}`, "apply", "-f", "-")
	}
	e.must(err)
	_, err = e.Kubectl(e.ctx, "", "create", "clusterrolebinding", e.ns+"-edu", "--clusterrole="+e.ns+"-edu",
		"--serviceaccount="+e.ns+":bob")
	e.must(err)
	t.Cleanup(func() {
		if _, err := e.Kubectl(e.ctx, "", "delete", "clusterrole,clusterrolebinding", e.ns+"-edu"); err != nil {
			t.Errorf("%v", err)
		}
	})
	e.eventually(30*time.Second, "bob may hold edu", func() error { // what was refused is remembered for a while
		if status, text := e.order(bob, state, hold); status != http.StatusOK {
			return errorf("%d %s", status, text)
		}
		return nil
	})
	e.refused(http.StatusForbidden, "may not update", bob, "/v1/queues/research/state", hold)
	e.ordered(ann, state, resume)
}

func TestHeldQueueStaysHeldOverARestart(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setQueues("- {name: research}\n- {name: edu}\n")
	e.addGPUNodes(1)
	ann := e.operator("ann")
	e.ordered(ann, "/v1/queues/research/state", hold)
	e.told(muster.Namespace, "QueueHeld", "queue research: hold, ordered by system:serviceaccount:"+e.ns+":ann (before: open)")
	g := e.gang("g", 2, 4, objects.Annotated("muster.dev/queue", "research"))
	e.add(g)
	e.waits(15*time.Second, g, "Hold")
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	e.waits(30*time.Second, g, "Hold")
	e.always(3*time.Second, "nobody starts", func() error {
		if n := e.bound(g); n > 0 {
			return errorf("%d members are bound", n)
		}
		return nil
	})
	e.ordered(ann, "/v1/queues/research/state", resume)
	e.whole(30*time.Second, g)
}

func TestReclaimTakesAWholeGangAndTheQueuePauses(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setQueues("- {name: research}\n- {name: edu}\n")
	e.addGPUNodes(1)
	ann := e.operator("ann")
	old := e.gang("old", 2, 4, objects.Annotated("muster.dev/queue", "research"))
	e.add(old)
	e.whole(30*time.Second, old)
	e.refused(http.StatusConflict, "only 8 GPUs of 9 can be had", ann, "/v1/queues/research/reclaim", `{"gpus":9}`)
	e.ordered(ann, "/v1/queues/research/reclaim", `{"gpus":1,"pauseSeconds":3600}`)
	e.eventually(30*time.Second, "both members are gone", func() error {
		if pods, err := e.pods(old); err != nil || len(pods) > 0 {
			return errorf("%d are left, %v", len(pods), err)
		}
		return nil
	})
	e.told(e.ns, "GangReclaimed", "2 pods are evicted: system:serviceaccount:"+e.ns+":ann reclaimed 1 GPU from queue research")
	again := e.gang("again", 2, 4, objects.Annotated("muster.dev/queue", "research"))
	other := e.gang("other", 1, 4, objects.Annotated("muster.dev/queue", "edu"))
	e.add(again, other)
	e.waits(15*time.Second, again, "Hold")
	e.whole(30*time.Second, other)
	e.end(other)
	e.ordered(ann, "/v1/queues/research/state", resume)
	e.whole(30*time.Second, again)
}

func TestReclaimChoosesOthersThanABudgetProtects(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setQueues("- {name: research}\n- {name: edu}\n")
	e.addGPUNodes(1)
	ann := e.operator("ann")
	free := e.gang("free", 1, 4, objects.Annotated("muster.dev/queue", "research"))
	e.add(free)
	e.whole(30*time.Second, free)
	time.Sleep(2 * time.Second)                                                     // what is lost counts in seconds
	kept := e.gang("kept", 1, 4, objects.Annotated("muster.dev/queue", "research")) // started last: it would go first
	e.add(kept)
	e.whole(30*time.Second, kept)
	e.protect(kept, "keep", 1)
	e.ordered(ann, "/v1/queues/research/reclaim", `{"gpus":4,"pauseSeconds":3600}`)
	e.eventually(30*time.Second, "the other one is gone", func() error {
		if pods, err := e.pods(free); err != nil || len(pods) > 0 {
			return errorf("%d are left, %v", len(pods), err)
		}
		return nil
	})
	if n := e.bound(kept); n != 1 {
		t.Errorf("the protected one is evicted")
	}
	e.refused(http.StatusConflict, "only 0 GPUs of 1 can be had", ann, "/v1/queues/research/reclaim", `{"gpus":1}`)
	e.ordered(ann, "/v1/queues/research/state", resume)
}

func TestOrderedPriorityGoesFirst(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	ann := e.operator("ann")
	busy, first, second := e.gang("busy", 1, 8), e.gang("first", 1, 8), e.gang("second", 1, 8)
	e.add(busy)
	e.whole(30*time.Second, busy)
	e.add(first)
	e.waits(15*time.Second, first, "NotEnoughGpus")
	e.add(second)
	e.waits(15*time.Second, second, "NotEnoughGpus")
	e.ordered(ann, "/v1/gangs/"+e.ns+"/second/priority", `{"priority":100}`)
	e.told(e.ns, "GangPriorityOrdered", "priority 100, ordered by")
	e.refused(http.StatusConflict, "bound or being bound", ann, "/v1/gangs/"+e.ns+"/busy/cancel", "")
	e.end(busy)
	e.whole(30*time.Second, second)
	if n := e.bound(first); n > 0 {
		t.Errorf("the first one started, too")
	}
}

func TestResourceQuotaThatKeepsMembersAwayIsNamed(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	const gpus = corev1.ResourceName("requests.nvidia.com/gpu")
	quota := &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "team"},
		Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{gpus: resource.MustParse("4")}}}
	_, err := e.Client.CoreV1().ResourceQuotas(e.ns).Create(e.ctx, quota, metav1.CreateOptions{})
	e.must(err)
	enforced := func(amount string) {
		e.t.Helper()
		e.eventually(30*time.Second, "the quota is enforced", func() error {
			quota, err := e.Client.CoreV1().ResourceQuotas(e.ns).Get(e.ctx, "team", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if hard := quota.Status.Hard[gpus]; hard.String() != amount {
				return errorf("hard is %s", hard.String())
			}
			return nil
		})
	}
	enforced("4")
	g := e.gang("g", 2, 4)
	e.addGroup(g)
	pods := g.Pods()
	e.addPods(pods[0])
	if _, err := e.Client.CoreV1().Pods(e.ns).Create(e.ctx, pods[1], metav1.CreateOptions{}); !apierrors.IsForbidden(err) {
		t.Fatalf("the second member is not over the quota: %v", err)
	}
	e.waits(30*time.Second, g, "ResourceQuota")
	gang, err := e.muster.Gang(e.ns, g.Name)
	e.must(err)
	const words = "ResourceQuota team, requests.nvidia.com/gpu: used 4 of 4, 1 missing pod asks for 4"
	if !strings.Contains(gang.Reason.Message, words) {
		t.Errorf("it says %q", gang.Reason.Message)
	}
	raise := []byte(`{"spec":{"hard":{"requests.nvidia.com/gpu":"8"}}}`)
	_, err = e.Client.CoreV1().ResourceQuotas(e.ns).Patch(e.ctx, "team", types.MergePatchType, raise, metav1.PatchOptions{})
	e.must(err)
	enforced("8")
	e.waits(15*time.Second, g, "WaitingForMembers")
	e.addPods(pods[1])
	e.whole(30*time.Second, g)
}
