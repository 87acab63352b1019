package suite

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The activeDeadlineSeconds of a Job count from the Job's start, which does not wait for its pods': Muster says what is left, and the Job
// controller fails a Job none of whose pods ever ran.
func TestTheDeadlineOfAJobRunsWhileItsPodsWaitAndMusterSaysWhatIsLeft(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	e.ownedGang("train", 4, "activeDeadlineSeconds: 20") // 16 GPUs, where there are 8
	e.explains("train", "at the latest, started or not")
	e.eventually(40*time.Second, "the Job has failed", func() error {
		job, err := e.Client.BatchV1().Jobs(e.ns).Get(e.ctx, "train", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, condition := range job.Status.Conditions {
			if condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue {
				if condition.Reason != batchv1.JobReasonDeadlineExceeded {
					t.Errorf("for %s: %s", condition.Reason, condition.Message)
				}
				return nil
			}
		}
		return errorf("%v", job.Status.Conditions)
	})
}
