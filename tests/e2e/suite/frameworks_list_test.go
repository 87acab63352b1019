package suite

import (
	"strings"
	"time"
)

// frameworks are the rows of the table. What each does when something fails is its controller's way.
var frameworks = []framework{
	{
		name: "Job", example: "job.yaml", kinds: []string{"jobs.batch"},
		wants: map[string]size{"job:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndIsReplaced, finish: (*play).succeed,
	},
	{
		name: "CronJob", example: "cronjob.yaml", kinds: []string{"cronjobs.batch", "jobs.batch"},
		change: func(text string) string { return strings.Replace(text, "0 2 * * *", "* * * * *", 1) },
		wants:  map[string]size{"job:nightly-*": {4, 4}}, gpus: 16,
		restart: (*play).oneRunEndsAndTheNextComes, finish: (*play).suspendedCronJobEnds,
	},
	{
		name: "JobSet", operators: []string{"jobset"}, example: "jobset.yaml", kinds: []string{"jobsets.jobset.x-k8s.io"},
		wants: map[string]size{"jobset:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndAllComeAnew, finish: (*play).succeed,
	},
	{
		name: "LeaderWorkerSet", operators: []string{"lws"}, example: "leaderworkerset.yaml",
		kinds: []string{"leaderworkersets.leaderworkerset.x-k8s.io"},
		wants: map[string]size{"leaderworkerset:serve:serve-0": {2, 2}, "leaderworkerset:serve:serve-1": {2, 2}}, gpus: 32,
		restart: (*play).aWorkerIsLostAndItsGroupComesAnew, finish: (*play).isDeleted,
	},
	{
		name: "PyTorchJob", operators: []string{"training-operator"}, example: "pytorchjob.yaml",
		kinds: []string{"pytorchjobs.kubeflow.org"},
		wants: map[string]size{"pytorchjob:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndIsReplaced, finish: (*play).succeed,
	},
	{
		name: "TFJob", operators: []string{"training-operator"}, example: "tfjob.yaml",
		kinds: []string{"tfjobs.kubeflow.org"},
		wants: map[string]size{"tfjob:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndIsReplaced, finish: (*play).succeed,
	},
	{
		name: "XGBoostJob", operators: []string{"training-operator"}, example: "xgboostjob.yaml",
		kinds: []string{"xgboostjobs.kubeflow.org"},
		wants: map[string]size{"xgboostjob:train": {4, 4}}, gpus: 16,
		restart: (*play).oneIsKilledAndReplaced, finish: (*play).succeed,
	},
	{
		name: "PaddleJob", operators: []string{"training-operator"}, example: "paddlejob.yaml",
		kinds: []string{"paddlejobs.kubeflow.org"},
		wants: map[string]size{"paddlejob:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndIsReplaced, finish: (*play).succeed,
	},
	{
		name: "JAXJob", operators: []string{"training-operator"}, example: "jaxjob.yaml",
		kinds: []string{"jaxjobs.kubeflow.org"},
		wants: map[string]size{"jaxjob:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndIsReplaced, finish: (*play).succeed,
	},
	{
		name: "TrainJob", operators: []string{"jobset", "trainer"}, example: "trainjob.yaml",
		kinds: []string{"trainjobs.trainer.kubeflow.org", "trainingruntimes.trainer.kubeflow.org"},
		wants: map[string]size{"jobset:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndAllComeAnew, finish: (*play).succeed,
	},
	{
		name: "MPIJob", operators: []string{"mpi-operator"}, apart: true, example: "mpijob.yaml",
		kinds: []string{"mpijobs.kubeflow.org"},
		wants: map[string]size{"mpijob:train": {5, 5}}, gpus: 16,
		restart: (*play).oneIsDeletedAndReplaced, finish: (*play).succeed,
	},
	{
		name: "RayCluster", operators: []string{"kuberay"}, example: "raycluster.yaml", kinds: []string{"rayclusters.ray.io"},
		wants: map[string]size{"raycluster:ray": {5, 5}}, gpus: 16,
		restart: (*play).oneIsDeletedAndReplaced, finish: (*play).isDeleted,
	},
	{ // no Ray answers here, so nothing is submitted
		name: "RayJob", operators: []string{"kuberay"}, example: "rayjob.yaml", kinds: []string{"rayjobs.ray.io"},
		change: func(text string) string {
			return strings.Replace(text, "\n  entrypoint:", "\n  submissionMode: HTTPMode\n  entrypoint:", 1)
		},
		wants: map[string]size{"raycluster:tune-*": {5, 5}}, gpus: 16,
		restart: (*play).oneIsDeletedAndReplaced, finish: (*play).isDeleted,
	},
	{
		name: "AppWrapper", operators: []string{"appwrapper"}, example: "appwrapper.yaml",
		kinds: []string{"appwrappers.workload.codeflare.dev"},
		wants: map[string]size{"job:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndAllComeAnew, finish: (*play).succeed,
	},
	{
		name: "StatefulSet", example: "statefulset.yaml", kinds: []string{"statefulsets.apps"},
		wants: map[string]size{"statefulset:store": {4, 4}}, gpus: 16,
		restart: (*play).oneIsDeletedAndReplaced, finish: (*play).isDeleted,
	},
	{
		name: "Deployment", example: "deployment.yaml", kinds: []string{"deployments.apps"},
		wants: map[string]size{"replicaset:serve-*": {4, 4}}, gpus: 16,
		restart: (*play).oneIsDeletedAndReplaced, finish: (*play).isDeleted,
	},
	{
		name: "Job in a queue of Kueue", kueue: true, example: "kueue-job.yaml",
		kinds: []string{"jobs.batch", "localqueues.kueue.x-k8s.io", "clusterqueues.kueue.x-k8s.io"},
		wants: map[string]size{"job:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndIsReplaced, finish: (*play).succeed,
	},
	{
		name: "Argo Workflow (controller played)", example: "argo-workflow.yaml", makes: (*play).argo,
		kinds: []string{"workflows.argoproj.io", "jobs.batch"},
		wants: map[string]size{"job:train": {4, 4}}, gpus: 16,
		restart: (*play).oneFailsAndIsReplaced, finish: (*play).succeed,
	},
	{
		name: "Volcano Job (controller played)", example: "volcano-job.yaml", makes: (*play).volcano, named: true,
		kinds: []string{"jobs.batch.volcano.sh", "podgroups.scheduling.volcano.sh"},
		wants: map[string]size{"train-*": {4, 4}}, gpus: 16,
		restart: (*play).volcanoRestartsTheJob, finish: (*play).succeed,
	},
	{
		name: "Grove (controller played)", example: "grove.yaml", makes: (*play).grove, named: true,
		kinds: []string{"podcliquesets.grove.io", "podcliques.grove.io", "podgangs.scheduler.grove.io"},
		wants: map[string]size{"serve-0": {4, 4}}, gpus: 16,
		restart: (*play).groveReplacesOne, finish: (*play).groveDeletesAll,
	},
}

// A pod fails, and its controller makes one in its place; the others stay.
func (p *play) oneFailsAndIsReplaced() {
	p.t.Helper()
	p.oneEndsAndIsReplaced(1)
}

// The same where the controller makes only those anew that a signal ended.
func (p *play) oneIsKilledAndReplaced() {
	p.t.Helper()
	p.oneEndsAndIsReplaced(137)
}

func (p *play) oneEndsAndIsReplaced(code int) {
	p.t.Helper()
	before, err := p.members()
	p.must(err)
	p.ends(before[len(before)-1], code)
	p.changed(before, 1)
}

// A pod is deleted, and its controller makes one in its place; the others stay.
func (p *play) oneIsDeletedAndReplaced() {
	p.t.Helper()
	before, err := p.members()
	p.must(err)
	p.deletePod(before[len(before)-1])
	p.changed(before, 1)
}

// A pod fails, and its controller makes all of them anew.
func (p *play) oneFailsAndAllComeAnew() {
	p.t.Helper()
	before, err := p.members()
	p.must(err)
	p.ends(before[len(before)-1], 1)
	p.changed(before, len(before))
}

func (p *play) aWorkerIsLostAndItsGroupComesAnew() {
	p.t.Helper()
	before, err := p.members()
	p.must(err)
	p.deletePod(p.one("leaderworkerset.sigs.k8s.io/worker-index", "1"))
	p.changed(before, 2)
}

// A run ends, and its gang with it; the next minute's is a gang of its own.
func (p *play) oneRunEndsAndTheNextComes() {
	p.t.Helper()
	first, err := p.live()
	p.must(err)
	p.succeed()
	p.eventually(150*time.Second, "the next run is another gang", func() error {
		second, err := p.live()
		if err == nil && (len(second) != 1 || second[0].Name == first[0].Name) {
			err = errorf("%s", show(second))
		}
		return err
	})
}

func (p *play) suspendedCronJobEnds() {
	p.t.Helper()
	_, err := p.Kubectl(p.ctx, "", "-n", p.ns, "patch", "cronjob", "nightly", "--type=merge", "-p", `{"spec":{"suspend":true}}`)
	p.must(err)
	p.succeed()
}

func (p *play) isDeleted() {
	p.t.Helper()
	for _, kind := range p.kinds {
		_, err := p.Kubectl(p.ctx, "", "-n", p.ns, "delete", kind, "--all", "--wait=false")
		p.must(err)
	}
}
