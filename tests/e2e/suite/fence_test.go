package suite

import (
	"context"
	"strings"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

const unwritable = "e2e.muster.dev/unwritable"

// A webhook that is down and fails closed keeps one pod from being written, right when a leader dies whose Binding of it
// may still be under way. What watches pods alone does not even see the fence.
func TestAPodThatNobodyCanWriteHoldsItsGangBackAndNotTheCluster(t *testing.T) {
	for _, c := range []struct {
		name      string
		resources []string
		waits     bool
	}{
		{"pods", []string{"pods"}, false},
		{"pods_and_their_status", []string{"pods", "pods/status"}, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			e.addGPUNodes(6)
			leader, follower := e.twoReplicas()
			held, other := e.gang("held", 2, 8), e.gang("other", 2, 8)
			binds := leader.proxy.Add(proxy.Fault{Match: proxy.Bind.In(e.ns), Hold: true})
			pods := held.Pods()
			pods[0].Labels[unwritable] = "true"
			e.addGroup(held)
			e.addPods(pods...)
			e.reached(binds, 30*time.Second)
			uids := e.uids(held)
			e.breakWebhook(c.resources)
			leader.Process.Kill()

			e.eventually(takeover, "the other replica leads", func() error {
				if e.labelled([]*replica{follower}) == nil {
					return errorf("running: %v", follower.Process.Running())
				}
				return nil
			})
			if c.waits {
				e.holdsBack(follower, held, "held-0")
			}
			e.add(other)
			e.whole(takeover, other)
			if c.waits {
				e.holdsBack(follower, held, "held-0")
				if n := e.bound(held); n > 0 {
					t.Errorf("%d members of the gang that is held back are bound", n)
				}
			}

			e.mendWebhook()
			e.whole(takeover, held)
			e.sameUIDs(held, uids)
			if !follower.Process.Running() {
				t.Error("the leader has ended")
			}
		})
	}
}

// holdsBack: the leader says of the gang which pod it waits for and why, and so does an Event.
func (e *env) holdsBack(leader *replica, g objects.Gang, pod string) {
	e.t.Helper()
	says := func(text string) bool { return strings.Contains(text, pod) && strings.Contains(text, "webhook") }
	e.eventually(15*time.Second, "the gang says which pod it waits for", func() error {
		gang, err := leader.Gang(g.Namespace, g.Name)
		if err == nil && (gang.Reason.Code != "PodNotFenced" || !says(gang.Reason.Message)) {
			err = errorf("%s, %s: %s", gang.State, gang.Reason.Code, gang.Reason.Message)
		}
		return err
	})
	e.eventually(20*time.Second, "an Event says it", func() error {
		events, err := e.Client.CoreV1().Events(e.ns).List(e.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.InvolvedObject.Name == g.Name && says(event.Message) {
				return nil
			}
		}
		return errorf("none of %d", len(events.Items))
	})
}

// breakWebhook registers one that nobody answers, for updates of the pods with the label.
func (e *env) breakWebhook(resources []string) {
	e.t.Helper()
	nobody, fail, none, seconds := "https://127.0.0.1:1/", admissionv1.Fail, admissionv1.SideEffectClassNone, int32(2)
	_, err := e.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Create(e.ctx,
		&admissionv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: e.ns},
			Webhooks: []admissionv1.ValidatingWebhook{{
				Name:                    "down." + muster.Namespace + ".e2e",
				ClientConfig:            admissionv1.WebhookClientConfig{URL: &nobody},
				FailurePolicy:           &fail,
				SideEffects:             &none,
				TimeoutSeconds:          &seconds,
				AdmissionReviewVersions: []string{"v1"},
				ObjectSelector:          &metav1.LabelSelector{MatchLabels: map[string]string{unwritable: "true"}},
				Rules: []admissionv1.RuleWithOperations{{
					Operations: []admissionv1.OperationType{admissionv1.Update},
					Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: resources},
				}},
			}},
		}, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(e.mendWebhook)
	e.eventually(10*time.Second, "the webhook is in force", func() error {
		pod, err := e.Client.CoreV1().Pods(e.ns).Get(e.ctx, "held-0", metav1.GetOptions{})
		e.must(err)
		pod.Annotations["e2e.muster.dev/probe"] = "true"
		if _, err = e.Client.CoreV1().Pods(e.ns).Update(e.ctx, pod, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}); err == nil {
			return errorf("the pod can be written")
		}
		return nil
	})
}

// mendWebhook takes it away; it is in force a moment longer.
func (e *env) mendWebhook() {
	_ = e.Client.AdmissionregistrationV1().ValidatingWebhookConfigurations().Delete(context.Background(), e.ns, metav1.DeleteOptions{})
}
