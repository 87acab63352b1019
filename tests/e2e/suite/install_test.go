package suite

import (
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// What README and docs/how-to/install.md tell an administrator to do, done: mustered() applies the manifests.
func TestTheSampleJobOfTheManifestsRunsToItsEnd(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addNodes(objects.Nodes(e.ns, 2, 8)...)
	root, err := controlplane.Root()
	e.must(err)
	_, err = e.Kubectl(e.ctx, "", "apply", "-f", root+"/manifests/samples/team.yaml")
	e.must(err)
	t.Cleanup(func() {
		if _, err := e.Kubectl(e.ctx, "", "delete", "--wait=true", "-f", root+"/manifests/samples/team.yaml"); err != nil {
			t.Error(err)
		}
	})
	e.eventually(60*time.Second, "the job is complete", func() error {
		job, err := e.Client.BatchV1().Jobs("team-a").Get(e.ctx, "train", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return succeeded(job)
	})
}

// What the training operator makes when it runs with --gang-scheduler-name=muster.
func TestTheSampleOfKubeflowsObjectsStartsAsAGang(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	root, err := controlplane.Root()
	e.must(err)
	sample := root + "/manifests/samples/kubeflow.yaml"
	_, err = e.Kubectl(e.ctx, "", "apply", "-f", sample)
	e.must(err)
	t.Cleanup(func() {
		if _, err := e.Kubectl(e.ctx, "", "delete", "--wait=true", "-f", sample); err != nil {
			t.Error(err)
		}
	})
	e.eventually(60*time.Second, "all three pods run as a gang", func() error {
		gang, err := e.muster.Gang("team-b", "mnist")
		if err == nil && (gang.State != "Running" || gang.MinMember != 3 || gang.Bound != 3) {
			err = errorf("%+v", gang)
		}
		return err
	})
	e.shownAsIn(exampleOfKubeflow, 0)
}

func succeeded(job *batchv1.Job) error {
	if job.Status.Succeeded != *job.Spec.Completions {
		return errorf("%d of %d pods have succeeded", job.Status.Succeeded, *job.Spec.Completions)
	}
	return nil
}
