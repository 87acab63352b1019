package suite

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// averageUsed waits until research has used so many GPUs on average; how many it has.
func (e *env) averageUsed(within time.Duration, least, most float64) float64 {
	e.t.Helper()
	average := 0.0
	e.eventually(within, "research has used some GPUs on average", func() (err error) {
		average, err = e.muster.Metric("muster_queue_average_used", `queue="research"`, `resource="gpu"`)
		if err == nil && (average < least || average > most) {
			err = errorf("it is %g, not from %g to %g", average, least, most)
		}
		return err
	})
	return average
}

// Without what was kept research would begin with the 8 GPUs that it uses.
func TestWhatAQueueHasUsedIsKnownAfterARestart(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setQueues("- {name: root, usageHalfLife: 1m}\n- {name: research}\n- {name: edu}\n")
	e.addGPUNodes(1)
	g := e.gang("g", 2, 4, objects.Annotated("muster.dev/queue", "research"))
	e.add(g)
	e.whole(30*time.Second, g)
	time.Sleep(10 * time.Second) // 8 GPUs for that long count for 0.9
	e.muster.Process.Stop(20 * time.Second)
	kept, err := e.Client.CoreV1().ConfigMaps(muster.Namespace).Get(e.ctx, "muster-usage", metav1.GetOptions{})
	e.must(err)
	if text := kept.Data["usage.json"]; !strings.Contains(text, `"research":{"halfLife":60000,`) {
		t.Errorf("what is kept is %q", text)
	}
	e.must(e.muster.Restart(e.ctx))
	average := e.averageUsed(15*time.Second, 0.5, 7)
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	e.averageUsed(afterKill, average, 7.5)
}
