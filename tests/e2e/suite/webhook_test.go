package suite

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"net"
	"net/http"
	"os"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// podWebhook is a mutating webhook for the pods of the test's namespace.
type podWebhook struct {
	name      string
	operation registrationv1.OperationType
	resources []string
	// change returns what is to stand at each of these paths (RFC 6901) of the pod.
	change func(pod *corev1.Pod) map[string]any
}

// runWebhooks serves them on the loopback, and returns once they are in force.
func (e *env) runWebhooks(hooks ...podWebhook) {
	e.t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	e.must(err)
	pair, err := e.CA.Server(e.ns + "-webhooks")
	e.must(err)
	certificate, err := tls.LoadX509KeyPair(pair.Cert, pair.Key)
	e.must(err)
	authority, err := os.ReadFile(e.CA.File)
	e.must(err)

	config := &registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: e.ns}}
	routes := http.NewServeMux()
	for _, hook := range hooks {
		routes.Handle("/"+hook.name, admits(hook.change))
		url, fail, none := "https://"+listener.Addr().String()+"/"+hook.name, registrationv1.Fail, registrationv1.SideEffectClassNone
		config.Webhooks = append(config.Webhooks, registrationv1.MutatingWebhook{
			Name:                    hook.name + ".muster.e2e",
			ClientConfig:            registrationv1.WebhookClientConfig{URL: &url, CABundle: authority},
			FailurePolicy:           &fail,
			SideEffects:             &none,
			AdmissionReviewVersions: []string{"v1"},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: e.ns}},
			Rules: []registrationv1.RuleWithOperations{{
				Operations: []registrationv1.OperationType{hook.operation},
				Rule:       registrationv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: hook.resources},
			}},
		})
	}
	server := &http.Server{Handler: routes, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}}}
	go func() { _ = server.ServeTLS(listener, "", "") }()
	configs := e.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err = configs.Create(e.ctx, config, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		if err := configs.Delete(context.Background(), e.ns, metav1.DeleteOptions{}); err != nil {
			e.t.Error(err)
		}
		time.Sleep(time.Second) // it is in force a moment longer, and fails closed
		server.Close()
	})
	e.eventually(10*time.Second, "the webhooks are in force", func() error {
		pod, err := e.Client.CoreV1().Pods(e.ns).Create(e.ctx, objects.Pod(e.ns, "probe", 0, objects.Labelled("e2e.muster.dev/probe", "true")),
			metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		if err == nil && pod.Labels[injected] == "" {
			err = errorf("a pod has labels %v", pod.Labels)
		}
		return err
	})
}

// admits lets every pod in, changed.
func admits(change func(*corev1.Pod) map[string]any) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		var pod corev1.Pod
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || json.Unmarshal(review.Request.Object.Raw, &pod) != nil {
			http.Error(w, "no review of a pod", http.StatusBadRequest)
			return
		}
		operations := []map[string]any{}
		for path, value := range change(&pod) {
			operations = append(operations, map[string]any{"op": "add", "path": path, "value": value})
		}
		patch, err := json.Marshal(operations)
		if err != nil {
			panic(err)
		}
		kind := admissionv1.PatchTypeJSONPatch
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true, PatchType: &kind, Patch: patch}
		review.Request = nil
		_ = json.NewEncoder(w).Encode(review)
	})
}

// What the webhooks of the test put on pods.
const (
	injected = "e2e.muster.dev/injected" // label, at their creation
	touched  = "e2e.muster.dev/touched"  // annotation, with every update another; label of pods that wait
	pool     = "e2e.muster.dev/pool"     // taint of the nodes that the injected toleration opens
)

// injects makes a small pod into one that may go to the tainted nodes and takes half of the CPUs of one.
func injects(pod *corev1.Pod) map[string]any {
	objects.Labelled(injected, "true")(pod)
	objects.Tolerating(pool, "shared")(pod)
	objects.Requesting(corev1.ResourceCPU, "60")(pod)
	return map[string]any{
		"/metadata/labels":             pod.Labels,
		"/spec/tolerations":            pod.Spec.Tolerations,
		"/spec/containers/0/resources": pod.Spec.Containers[0].Resources,
	}
}

// touches changes a pod with whatever update of it somebody else makes. A policy engine whose rule is newer than the pod adds a label.
func touches(pod *corev1.Pod) map[string]any {
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[touched] = time.Now().Format(time.RFC3339Nano)
	change := map[string]any{"/metadata/annotations": pod.Annotations}
	if pod.Spec.NodeName == "" {
		objects.Labelled(touched, "true")(pod)
		change["/metadata/labels"] = pod.Labels
	}
	return change
}

// Policy engines, sidecar injectors and quota systems: what Muster plans with is what came out of them, and that its own
// writes come back changed neither stops it nor makes it write again.
func TestGangsWhosePodsWebhooksChangeStartWhole(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	nodes := objects.Nodes(e.ns, 4, 8)
	for _, node := range nodes {
		node.Spec.Taints = []corev1.Taint{{Key: pool, Value: "shared", Effect: corev1.TaintEffectNoSchedule}}
	}
	e.addNodes(nodes...)
	e.runWebhooks(
		podWebhook{"injects", registrationv1.Create, []string{"pods"}, injects},
		podWebhook{"touches", registrationv1.Update, []string{"pods", "pods/status"}, touches})
	mark, err := e.audit.Now()
	e.must(err)
	g, next := e.gang("g", 8, 2), e.gang("next", 8, 2)
	e.add(g)
	uids := e.uids(g)
	e.whole(30*time.Second, g)
	pods, err := e.pods(g)
	e.must(err)
	on := map[string]int{}
	for _, pod := range pods {
		on[pod.Spec.NodeName]++
		if pod.Labels[injected] == "" || pod.Annotations[touched] == "" {
			t.Errorf("%s has labels %v and annotations %v", pod.Name, pod.Labels, pod.Annotations)
		}
	}
	for node, n := range on {
		if n > 2 {
			t.Errorf("%d members are on %s, which has CPUs for two", n, node)
		}
	}
	e.add(next)
	e.always(3*time.Second, "the next one has no room", func() error {
		if n := e.bound(next); n > 0 {
			return errorf("%d members are bound", n)
		}
		return e.isWhole(g)
	})
	e.sameUIDs(g, uids)
	e.end(g)
	e.whole(30*time.Second, next)
	e.evictedNobodySince(mark)
	e.wroteAtMostSince(mark, 3*16+25)
}
