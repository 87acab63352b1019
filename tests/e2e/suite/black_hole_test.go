package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// blackHole is the node on which the played kubelet lets every pod fail at admission.
const blackHole = "black-hole"

func TestANodeWhereEveryPodFailsAtAdmissionIsLeftOutBeforeTheJobHasFailed(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addNodes(objects.Node(blackHole, 8), objects.Node(e.ns+"-good", 8))
	other := e.gang("other", 1, 8, objects.WithNodeSelector("kubernetes.io/hostname", e.ns+"-good"))
	e.add(other)
	e.whole(30*time.Second, other)

	train := e.sample(func(text string) string {
		// Four fail at once. Those that the Job makes in their place must find another node.
		changed := strings.Replace(text, "backoffLimit: 3", "backoffLimit: 6", 1)
		if changed == text {
			t.Fatal("the sample has no line backoffLimit: 3")
		}
		return changed
	})
	e.eventually(30*time.Second, "an Event on the node says that it is left out", func() error {
		events, err := e.Client.EventsV1().Events("default").List(e.ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, event := range events.Items {
			if event.Reason == "NodeLeftOut" && event.Regarding.Kind == "Node" && event.Regarding.Name == blackHole {
				return nil
			}
		}
		return errorf("none of %d Events does", len(events.Items))
	})
	if out, err := e.muster.Metric("muster_left_out", `kind="node"`); err != nil || out != 1 {
		t.Errorf("muster_left_out is %v, %v", out, err)
	}
	// The Job controller waits 80 s after four failures.
	e.eventually(150*time.Second, "the Job has recreated four pods, which wait for the other node", func() error {
		pods, err := e.pods(train)
		if err != nil {
			return err
		}
		waiting := 0
		for _, pod := range pods {
			if pod.Status.Phase == corev1.PodPending && pod.Spec.NodeName == "" {
				waiting++
			}
		}
		if waiting != 4 {
			return errorf("%d wait, of %d; %s", waiting, len(pods), e.why(train))
		}
		if why := e.why(train); !strings.Contains(why, "1 left out because pods failed there at their start") {
			return errorf("%s", why)
		}
		return nil
	})

	e.end(other)
	e.eventually(60*time.Second, "all four run on the good node", func() error { return e.runOn(train, e.ns+"-good", 4) })
	e.must(e.letJobPodsEnd(train))
	e.eventually(60*time.Second, "the Job is complete", func() error { return succeeded(e.job()) })
}

// runOn counts the gang's pods that run, all of them on this node.
func (e *env) runOn(g objects.Gang, node string, want int) error {
	pods, err := e.pods(g)
	if err != nil {
		return err
	}
	running := 0
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		if pod.Spec.NodeName != node {
			return fmt.Errorf("%s runs on %s", pod.Name, pod.Spec.NodeName)
		}
		running++
	}
	if running != want {
		return errorf("%d do; %s", running, e.why(g))
	}
	return nil
}
