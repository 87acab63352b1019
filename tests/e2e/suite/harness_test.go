package suite

import (
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"muster.dev/e2e/objects"
	"muster.dev/e2e/proxy"
)

// What judges Muster must be able to fail: planted breaches are found.
func TestTheAuditorFindsGPUsGivenOutTwiceAndGangsThatStayPartial(t *testing.T) {
	e := in(t, bare(t, worldOptions{}))
	e.addGPUNodes(1)
	node := e.ns + "-0"
	bound := func(name string, gpus int, indices string) *corev1.Pod {
		pod := objects.Pod(e.ns, name, gpus, objects.Annotated("muster.dev/gpus", indices))
		pod.Spec.NodeName = node
		return pod
	}
	for _, planted := range []struct {
		pod  *corev1.Pod
		want string
	}{
		{bound("a", 2, "0,1"), ""},
		{bound("b", 2, "1,2"), "GPU 1 of node " + node + " belongs to"},
		{bound("c", 1, "3,4"), "asks for 1 GPUs and has"},
		{bound("d", 1, "8"), "which has 8"},
		{bound("e", 8, ""), "8 GPUs and 14 are given out"},
	} {
		e.addPods(planted.pod)
		e.eventually(5*time.Second, "the auditor says "+planted.want, func() error {
			if found := strings.Join(e.auditor.Breaches(), "\n"); !strings.Contains(found, planted.want) {
				return errorf("it found %q", found)
			}
			return nil
		})
	}
}

func TestTheAuditLogCountsWritesByUser(t *testing.T) {
	e := in(t, bare(t, worldOptions{}))
	mark, err := e.audit.Now()
	e.must(err)
	e.addPods(objects.Pod(e.ns, "a", 0), objects.Pod(e.ns, "b", 0))
	e.eventually(5*time.Second, "two creations are counted", func() error {
		writes, err := e.audit.Since(mark)
		if n := writes["e2e-admin"]["create pods"]; err == nil && n != 2 {
			err = errorf("%d are: %v", n, writes)
		}
		return err
	})
}

func TestTheProxyBreaksCallsAsItIsTold(t *testing.T) {
	e := in(t, bare(t, worldOptions{}))
	p, err := proxy.Start(e.URL, e.CA.File, e.CA)
	e.must(err)
	defer p.Close()
	config := e.Config()
	config.Host = p.URL
	client, err := kubernetes.NewForConfig(config)
	e.must(err)
	pods := client.CoreV1().Pods(e.ns)
	isPod := func(r proxy.Request) bool { return r.Verb == "create" && r.Resource == "pods" }

	p.Add(proxy.Fault{Match: isPod, Status: http.StatusInternalServerError, Times: 1})
	if _, err := pods.Create(e.ctx, objects.Pod(e.ns, "refused", 0), metav1.CreateOptions{}); !apierrors.IsInternalError(err) {
		t.Errorf("expected an internal error, got %v", err)
	}
	p.Add(proxy.Fault{Match: isPod, LoseAnswer: true, Times: 1})
	if _, err := pods.Create(e.ctx, objects.Pod(e.ns, "lost", 0), metav1.CreateOptions{}); err == nil {
		t.Error("the answer came")
	}
	if _, err := e.Client.CoreV1().Pods(e.ns).Get(e.ctx, "lost", metav1.GetOptions{}); err != nil {
		t.Errorf("the call whose answer was lost was not carried out: %v", err)
	}
	events, err := pods.Watch(e.ctx, metav1.ListOptions{})
	e.must(err)
	if event := <-events.ResultChan(); event.Type != watch.Added {
		t.Errorf("expected the pod, got %v", event)
	}
	p.EndWatches()
	if event, open := <-events.ResultChan(); open && event.Type != watch.Error {
		t.Errorf("the watch goes on: %v", event)
	}
}
