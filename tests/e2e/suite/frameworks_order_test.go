package suite

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/objects"
)

// Controllers that make some pods only when others run, or while others still leave.

func named(t *testing.T, name string) framework {
	t.Helper()
	for _, f := range frameworks {
		if f.name == name {
			return f
		}
	}
	t.Fatalf("no framework is named %q", name)
	return framework{}
}

// with has the sample changed: a text of it that is there once is followed by another.
func (f framework) with(t *testing.T, after, text string) framework {
	t.Helper()
	f.change = func(sample string) string {
		if strings.Count(sample, after) != 1 {
			t.Fatalf("the sample has %d times %q", strings.Count(sample, after), after)
		}
		return strings.Replace(sample, after, after+text, 1)
	}
	return f
}

// Where a gang of all pods would wait for ever, because some come when others run, Muster makes gangs of those that come together.
func TestFrameworksWhosePodsComeOneAfterTheOther(t *testing.T) {
	for _, c := range []struct {
		name, framework string
		after, text     string
		wants           map[string]size
	}{
		{"JobSet InOrder", "JobSet", "\nspec:\n  failurePolicy:\n    maxRestarts: 3\n", "  startupPolicy: {startupPolicyOrder: InOrder}\n",
			map[string]size{"jobset:train:leader": {1, 1}, "jobset:train:workers": {3, 3}}},
		{"JobSet with dependsOn", "JobSet", "  - name: workers\n", "    dependsOn: [{name: leader, status: Ready}]\n",
			map[string]size{"jobset:train:leader": {1, 1}, "jobset:train:workers": {3, 3}}},
		{"LeaderWorkerSet with LeaderReady", "LeaderWorkerSet", "  replicas: 2\n", "  startupPolicy: LeaderReady\n",
			map[string]size{"leaderworkerset:serve:serve-0": {2, 2}, "leaderworkerset:serve:serve-1": {2, 2}}},
		{"MPIJob that waits for its workers", "MPIJob", "  slotsPerWorker: 4\n", "  launcherCreationPolicy: WaitForWorkersReady\n",
			map[string]size{"mpijob:train": {5, 4}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := named(t, c.framework).with(t, c.after, c.text)
			f.wants = c.wants
			p := f.begin(t)
			p.apply()
			p.eventually(90*time.Second, "all of it runs", p.runs)
			p.finished()
		})
	}
}

// JobSet makes each Job anew as soon as its own pods are gone: those of two attempts are there at the same time.
func TestAnAttemptOfAJobSetStartsWholeWhenTheLastOneHasLeft(t *testing.T) {
	p := named(t, "JobSet").begin(t)
	p.apply()
	p.eventually(60*time.Second, "all of it runs", p.runs)
	before, err := p.members()
	p.must(err)
	leader := before[0]
	p.label(leader, `"lingers"`)
	p.ends(before[len(before)-1], 1)
	const again = "jobset.sigs.k8s.io/restart-attempt=1"
	p.eventually(60*time.Second, "the workers of the next attempt are there beside the leader of the last one", func() error {
		pods, err := p.list(again)
		if err == nil && len(pods) != 3 {
			err = errorf("%d are", len(pods))
		}
		return err
	})
	p.always(5*time.Second, "no pod of the next attempt has a node", func() error {
		pods, err := p.list(again)
		if n := countBound(pods); err == nil && n > 0 {
			err = errorf("%d of %d have", n, len(pods))
		}
		return err
	})
	p.label(leader, "null")
	p.eventually(60*time.Second, "all of it runs again", p.runs)
	p.finished()
}

// label tells the played kubelet how to treat a pod.
func (p *play) label(pod corev1.Pod, value string) {
	p.t.Helper()
	_, err := p.Client.CoreV1().Pods(p.ns).Patch(p.ctx, pod.Name, types.MergePatchType,
		[]byte(`{"metadata":{"labels":{"`+objects.KubeletLabel+`":`+value+`}}}`), metav1.PatchOptions{})
	p.must(err)
}
