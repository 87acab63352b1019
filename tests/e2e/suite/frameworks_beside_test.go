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

// The submitter, whose Job KubeRay makes when the RayCluster is ready: no gang could wait for it.
func TestTheSubmitterOfARayJobStartsByItself(t *testing.T) {
	f := named(t, "RayJob").with(t, "  shutdownAfterJobFinishes: true\n", `  submitterPodTemplate:
    spec:
      schedulerName: muster
      restartPolicy: Never
      containers:
      - {name: submitter, image: "rayproject/ray:2.46.0"}
`)
	p := f.begin(t)
	p.hold()
	p.apply()
	p.grouped()
	p.always(3*time.Second, "no pod has a node", func() error { return p.bindsOnly(0, 5) })
	p.end(p.holder)
	for attempt := range 2 {
		p.submits(attempt)
	}
	p.finished()
}

// submits waits until the RayCluster and one submitter run, and has the submitter fail; its Job makes another one.
func (p *play) submits(attempt int) {
	p.t.Helper()
	what := fmt.Sprintf("the cluster and submitter %d run", attempt)
	p.eventually(90*time.Second, what, func() error { return p.bindsOnly(6, 6) })
	submitter := p.one("batch.kubernetes.io/job-name", "tune")
	p.eventually(30*time.Second, "the submitter is by itself, and the cluster a gang of five", func() error {
		gangs, alone, err := p.gangsHere()
		for _, gang := range gangs {
			if gang.Name != p.holder.Name && (gang.MinMember != 5 || gang.Pods != 5 || gang.Bound != 5 || gang.State != "Running") {
				err = errorf("%s", show(gangs))
			}
		}
		running := 0
		for _, pod := range alone {
			if pod.Name == submitter.Name && pod.State == "Running" {
				running++
			}
		}
		if err == nil && running != 1 {
			err = errorf("alone are %s", show(alone))
		}
		return err
	})
	p.explains(submitter.Name, "the submitter of a RayJob comes when its RayCluster is ready")
	p.ends(submitter, 1)
}
