package suite

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

const warnedOf = "GangJobMayFail"

// sample applies the manifests' sample, four members of two GPUs with backoffLimit 3, in the test's namespace. Its pods run
// until release.
func (e *env) sample(change func(text string) string) objects.Gang {
	e.t.Helper()
	root, err := controlplane.Root()
	e.must(err)
	text, err := os.ReadFile(filepath.Join(root, "manifests/samples/team.yaml"))
	e.must(err)
	g := objects.Gang{Namespace: e.ns, Name: "train", Members: 4}
	const label = "        scheduling.x-k8s.io/pod-group: train\n"
	manifest := strings.ReplaceAll(string(text), "team-a", e.ns)
	if !strings.Contains(manifest, label) {
		e.t.Fatalf("the sample's template has no line %q", label)
	}
	manifest = strings.Replace(manifest, label,
		label+"        "+objects.GangLabel+": train\n        "+objects.KubeletLabel+": runs\n", 1)
	e.auditor.Expect(g.Key(), g.Members)
	e.mu.Lock()
	e.gangs = append(e.gangs, g.Key())
	e.mu.Unlock()
	_, err = e.Kubectl(e.ctx, change(manifest), "apply", "-f", "-")
	e.must(err)
	e.t.Cleanup(func() { // before the namespace's pods go, which it would recreate
		background := metav1.DeletePropagationBackground
		err := e.Client.BatchV1().Jobs(e.ns).Delete(e.ctx, "train", metav1.DeleteOptions{PropagationPolicy: &background})
		if err != nil {
			e.t.Error(err)
		}
	})
	return g
}

// preemptSample runs the sample on all there is and has a gang of higher priority take its place.
func (e *env) preemptSample(change func(text string) string) (train, urgent objects.Gang) {
	e.t.Helper()
	e.definePriorities()
	e.setPolicy("preemption: lowerPriority")
	e.addGPUNodes(1)
	train = e.sample(change)
	e.whole(30*time.Second, train)
	e.eventually(15*time.Second, "the sample runs", func() error { return e.allRun(train) })
	e.shownAsIn(exampleOfPodGroup, 0)
	urgent = e.gang("urgent", 2, 4, objects.WithPriorityClass(urgentClass))
	e.add(urgent)
	e.whole(60*time.Second, urgent)
	return train, urgent
}

func (e *env) allRun(g objects.Gang) error {
	pods, err := e.pods(g)
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning || pod.DeletionTimestamp != nil {
			return errorf("%s is %s", pod.Name, pod.Status.Phase)
		}
	}
	return err
}

func (e *env) job() *batchv1.Job {
	e.t.Helper()
	job, err := e.Client.BatchV1().Jobs(e.ns).Get(e.ctx, "train", metav1.GetOptions{})
	e.must(err)
	return job
}

// warnings are the Events on the gang that say that its Job may fail.
func (e *env) warnings(g objects.Gang) []string {
	e.t.Helper()
	events, err := e.Client.EventsV1().Events(e.ns).List(e.ctx, metav1.ListOptions{})
	e.must(err)
	var notes []string
	for _, event := range events.Items {
		if event.Reason == warnedOf && event.Regarding.Name == g.Name && event.Type == corev1.EventTypeWarning {
			notes = append(notes, event.Note)
		}
	}
	return notes
}

// letJobPodsEnd takes from the running pods of a Job what keeps them running.
func (e *env) letJobPodsEnd(g objects.Gang) error {
	pods, err := e.pods(g)
	if err != nil {
		return err
	}
	for _, pod := range pods {
		if pod.Status.Phase != corev1.PodRunning {
			continue
		}
		_, err := e.Client.CoreV1().Pods(e.ns).Patch(e.ctx, pod.Name, types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"`+objects.KubeletLabel+`":null}}}`), metav1.PatchOptions{})
		if err != nil {
			return err
		}
	}
	return nil
}

func TestAJobThatIgnoresEvictionsIsPreemptedRunsAgainAndCompletes(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	train, urgent := e.preemptSample(func(text string) string { return text })
	// The Job controller waits 10 s for the first pod that ended so and twice as long for each further one, 80 s for four,
	// whether it counts them or not.
	e.eventually(150*time.Second, "the Job has recreated its pods, and they wait", func() error {
		pods, err := e.pods(train)
		if err == nil && (len(pods) != 4 || countBound(pods) != 0) {
			err = errorf("%d are there, %d of them bound", len(pods), countBound(pods))
		}
		return err
	})
	if job := e.job(); job.Status.Failed != 0 || len(job.Status.Conditions) != 0 {
		t.Fatalf("the Job counts %d failures and has conditions %v", job.Status.Failed, job.Status.Conditions)
	}
	e.end(urgent)
	e.whole(60*time.Second, train)
	e.eventually(15*time.Second, "it runs again", func() error { return e.allRun(train) })
	e.must(e.letJobPodsEnd(train))
	e.eventually(60*time.Second, "the Job is complete", func() error { return succeeded(e.job()) })
	if notes := e.warnings(train); len(notes) != 0 {
		t.Errorf("it was warned of %v", notes)
	}
}

func TestAJobThatCountsEvictionsIsWarnedOfBeforeItFails(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	train, _ := e.preemptSample(func(text string) string { return withoutPodFailurePolicy(t, text) })
	e.eventually(30*time.Second, "the gang is warned of, once", func() error {
		notes := e.warnings(train)
		if len(notes) != 1 || !strings.Contains(notes[0], "Job "+e.ns+"/train") {
			return errorf("%q", notes)
		}
		return nil
	})
	e.eventually(60*time.Second, "the Job has failed for good", func() error {
		for _, condition := range e.job().Status.Conditions {
			if condition.Type == batchv1.JobFailed && condition.Status == corev1.ConditionTrue {
				return nil
			}
		}
		return errorf("%+v", e.job().Status)
	})
}
