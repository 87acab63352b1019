package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// Controllers that make pods beside those that start together, before them or after: each of these starts by itself.

// initializers are the steps of a TrainJob that end before training starts, as the trainer's own runtimes have them.
const initializers = `      - name: %[1]s-initializer
        template:
          metadata:
            labels:
              trainer.kubeflow.org/trainjob-ancestor-step: %[1]s-initializer
          spec:
            template:
              spec:
                schedulerName: muster
                restartPolicy: Never
                containers:
                - name: %[1]s-initializer
                  image: %[1]s
                  volumeMounts: [{name: initializer, mountPath: /workspace}]
                volumes: [{name: initializer, emptyDir: {}}]
`

const ofReplicatedJob = "jobset.sigs.k8s.io/replicatedjob-name"

// withInitializers are replicated jobs on which the trainer's depends.
func withInitializers(t *testing.T, sample string) string {
	t.Helper()
	for _, change := range [][2]string{
		{"      replicatedJobs:\n      - name: node\n", "      replicatedJobs:\n" + fmt.Sprintf(initializers, "dataset") +
			fmt.Sprintf(initializers, "model") + "      - name: node\n" +
			"        dependsOn: [{name: dataset-initializer, status: Complete}, {name: model-initializer, status: Complete}]\n"},
		{"  trainer:\n    numNodes: 4\n", "  initializer:\n    dataset: {storageUri: hf://team/data}\n" +
			"    model: {storageUri: hf://team/model}\n  trainer:\n    numNodes: 4\n"},
	} {
		if strings.Count(sample, change[0]) != 1 {
			t.Fatalf("the sample has %d times %q", strings.Count(sample, change[0]), change[0])
		}
		sample = strings.Replace(sample, change[0], change[1], 1)
	}
	return sample
}

func TestTheInitializersOfATrainJobStartByThemselvesAndItsTrainersWhole(t *testing.T) {
	f := named(t, "TrainJob")
	f.change = func(sample string) string { return withInitializers(t, sample) }
	f.wants = map[string]size{"jobset:train:node": {4, 4}}
	p := f.begin(t)
	p.hold()
	p.apply()
	p.initialize()
	p.eventually(60*time.Second, "the trainers are one gang, which waits", func() error {
		got, err := p.asOwned()
		if err == nil && (got[0].State != "Queued" || !strings.Contains(got[0].Reason.Message, "wants 16 GPUs")) {
			err = errorf("%s", show(got))
		}
		return err
	})
	p.always(3*time.Second, "no trainer has a node", func() error { return p.bindsOnly(0, 4) })
	p.end(p.holder)
	p.runsWithin(60 * time.Second)

	// Trainers fail, and JobSet begins with the initializers again.
	before, err := p.members()
	p.must(err)
	p.ends(before[0], 1)
	p.initialize()
	p.runsWithin(90 * time.Second)
	p.finished()
}

// initialize ends both initializers when they run, each by itself, and no trainer is there.
func (p *play) initialize() {
	p.t.Helper()
	var pods []corev1.Pod
	p.eventually(120*time.Second, "both initializers, and nothing else of it, have a node", func() (err error) {
		if pods, err = p.members(); err == nil && (len(pods) != 2 || countBound(pods) != 2) {
			err = errorf("%d of %d pods have; %s", countBound(pods), len(pods), p.waits())
		}
		for _, pod := range pods {
			if err == nil && !strings.HasSuffix(pod.Labels[ofReplicatedJob], "-initializer") {
				err = errorf("%s is there", pod.Name)
			}
		}
		return err
	})
	for i, pod := range pods {
		gang, err := p.muster.Gang(p.ns, pod.Name)
		p.must(err)
		if gang.Kind != "Pod" || gang.State != "Running" {
			p.t.Errorf("%s is not by itself: %+v", pod.Name, gang)
		}
		p.explains(pod.Name, "initializers end before training starts")
		p.ends(pod, 0)
		if i == 0 {
			p.always(3*time.Second, "no trainer is there before both have ended", func() error { return p.bindsOnly(1, 1) })
		}
	}
}
