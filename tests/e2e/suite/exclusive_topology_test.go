package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// Exclusive topology: the first pod of a part has a rack to its part alone, by affinity that kube-scheduler judges, and its
// controller makes the part's other pods for that rack when the first one has a node.

const exclusiveJobSet = `apiVersion: jobset.x-k8s.io/v1alpha2
kind: JobSet
metadata:
  name: train
  namespace: %s
  annotations: {alpha.jobset.sigs.k8s.io/exclusive-topology: ` + rackLabel + `}
spec:
  replicatedJobs:
  - name: workers
    replicas: 2
    template:
      spec:
        completions: 2
        parallelism: 2
        template:
          spec:
            schedulerName: muster
            restartPolicy: Never
            containers:
            - {name: worker, image: x, resources: {limits: {nvidia.com/gpu: 8}}}
`

const jobIndex = "jobset.sigs.k8s.io/job-index"

// inRacks is a JobSet of two Jobs of two pods, each pod with a node's GPUs, and each Job with a rack to itself.
func inRacks(t *testing.T) *play {
	t.Helper()
	f := named(t, "JobSet")
	f.gpus = 0 // nodes: those of racks
	p := f.begin(t)
	p.change = func(string) string { return fmt.Sprintf(exclusiveJobSet, p.ns) }
	p.gpus = 4 * 8
	return p
}

func (p *play) addRack(name string, nodes int) {
	p.t.Helper()
	rack := objects.Nodes(p.ns+"-"+name, nodes, 8)
	for _, node := range rack {
		node.Labels[rackLabel] = p.ns + "-" + name
	}
	p.addNodes(rack...)
}

// eachInARackOfItsOwn: pods that have a node and the same value of that label share a rack, and others have another one.
func (p *play) eachInARackOfItsOwn(part string) {
	p.t.Helper()
	pods, err := p.members()
	p.must(err)
	rackOf, partIn := map[string]string{}, map[string]string{}
	for _, pod := range pods {
		if pod.Spec.NodeName == "" {
			continue
		}
		node, err := p.Client.CoreV1().Nodes().Get(p.ctx, pod.Spec.NodeName, metav1.GetOptions{})
		p.must(err)
		rack, part := node.Labels[rackLabel], pod.Labels[part]
		if other, known := rackOf[part]; known && other != rack {
			p.t.Errorf("%s is in %s, and others of %s in %s", pod.Name, rack, part, other)
		}
		if other, taken := partIn[rack]; taken && other != part {
			p.t.Errorf("%s of %s is in %s, where %s is", pod.Name, part, rack, other)
		}
		rackOf[part], partIn[rack] = rack, part
	}
}

// waits are the reasons of the live gangs.
func (p *play) waits() string {
	got, err := p.live()
	if err != nil {
		return err.Error()
	}
	var out []string
	for _, gang := range got {
		out = append(out, fmt.Sprintf("%s %s, %d bound, %s: %s", gang.Name, gang.State, gang.Bound, gang.Reason.Code, gang.Reason.Message))
	}
	return strings.Join(out, "\n")
}

func (p *play) runsWithin(within time.Duration) {
	p.t.Helper()
	p.eventually(within, "all of it runs", func() error {
		if err := p.runs(); err != nil {
			return errorf("%w\n%s", err, p.waits())
		}
		return nil
	})
}

// bindsOnly fails unless so many of its pods are there, and so many of these have a node.
func (p *play) bindsOnly(bound, pods int) error {
	got, err := p.members()
	if n := countBound(got); err == nil && (len(got) != pods || n != bound) {
		err = errorf("%d of %d pods have a node\n%s", n, len(got), p.waits())
	}
	return err
}

// reasoned fails unless a gang is in that state for that reason, which names what is meant.
func (p *play) reasoned(state, code, names string) error {
	got, err := p.live()
	for _, gang := range got {
		if gang.State == state && gang.Reason.Code == code && strings.Contains(gang.Reason.Message, names) {
			return nil
		}
	}
	if err == nil {
		err = errorf("%s", p.waits())
	}
	return err
}

func TestJobsWithExclusiveTopologyHaveEachARackOfItsOwn(t *testing.T) {
	for _, nodes := range []int{2, 8} {
		t.Run(fmt.Sprintf("two racks of %d nodes", nodes), func(t *testing.T) {
			p := inRacks(t)
			p.addRack("r0", nodes)
			p.addRack("r1", nodes)
			p.apply()
			p.runsWithin(120 * time.Second)
			p.eachInARackOfItsOwn(jobIndex)
			p.finished()
		})
	}
}

// Two Jobs may not share a rack: Muster knows that before it hands a pod to kube-scheduler, and says it.
func TestJobsWithExclusiveTopologyWaitForARackThatIsMissing(t *testing.T) {
	p := inRacks(t)
	p.addRack("r0", 4)
	p.apply()
	p.eventually(60*time.Second, "its reason is the rule that no rack is left for", func() error {
		return p.reasoned("Unsatisfiable", "NeverFits", "pod affinity or anti-affinity")
	})
	p.always(15*time.Second, "no first pod starts without the other", func() error { return p.bindsOnly(0, 2) })
	p.addRack("r1", 2)
	p.runsWithin(60 * time.Second)
	p.eachInARackOfItsOwn(jobIndex)
	p.finished()
}

// Each Job has a first pod in a rack of its own, and finds the rest of that rack taken.
func TestFirstPodsKeepTheirRacksUntilTheOthersStartTogether(t *testing.T) {
	p := inRacks(t)
	var holders []objects.Gang
	for i := range 2 {
		rack := fmt.Sprintf("r%d", i)
		p.addRack(rack, 2)
		on := objects.WithNodeSelector("kubernetes.io/hostname", p.ns+"-"+rack+"-1")
		holders = append(holders, p.gang("holder-"+rack, 1, 8, on))
	}
	p.add(holders...)
	p.whole(30*time.Second, holders...)
	p.apply()
	waits := func() error {
		if err := p.bindsOnly(2, 4); err != nil {
			return err
		}
		return p.reasoned("Degraded", "NotEnoughGpus", "wants 16 GPUs")
	}
	p.eventually(60*time.Second, "the first pods have nodes, and the others are there and wait", waits)
	p.muster.Process.Kill()
	p.must(p.muster.Restart(p.ctx))
	p.eventually(60*time.Second, "so it is after a restart", waits)
	p.end(holders[0])
	p.always(10*time.Second, "none of the others starts alone", func() error { return p.bindsOnly(2, 4) })
	p.end(holders[1])
	p.runsWithin(60 * time.Second)
	p.eachInARackOfItsOwn(jobIndex)
	p.finished()
}

// Each of them has nodes, but not racks, until it gives them back.
func TestOfTwoJobSetsThatNeedAllRacksOneStartsWholeAndThenTheOther(t *testing.T) {
	p := inRacks(t)
	p.setPolicy("reservationTimeout: 10s")
	p.addRack("r0", 2)
	p.addRack("r1", 2)
	one := p.change("")
	p.change = func(string) string { return one + "---\n" + strings.Replace(one, "name: train", "name: other", 1) }
	p.apply()
	begin := time.Now()
	p.eventually(180*time.Second, "one runs", func() error {
		pods, err := p.members()
		if n := countBound(pods); err == nil && n != 4 {
			err = errorf("%d pods have nodes\n%s", n, p.waits())
		}
		return err
	})
	t.Logf("one ran after %s", time.Since(begin).Round(time.Second))
	p.eachInARackOfItsOwn("batch.kubernetes.io/job-name")
	pods, err := p.members()
	p.must(err)
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			p.ends(pod, 0)
		}
	}
	p.wants = map[string]size{"jobset:*": {4, 4}}
	p.runsWithin(180 * time.Second)
	p.eachInARackOfItsOwn("batch.kubernetes.io/job-name")
	p.finished()
}

func TestGroupsWithExclusiveTopologyHaveEachARackOfItsOwn(t *testing.T) {
	f := named(t, "LeaderWorkerSet").with(t, "  name: serve\n",
		"  annotations: {leaderworkerset.sigs.k8s.io/exclusive-topology: "+rackLabel+"}\n")
	f.gpus = 0
	p := f.begin(t)
	p.gpus = 4 * 8
	p.addRack("r0", 2)
	p.addRack("r1", 2)
	p.apply()
	p.runsWithin(120 * time.Second)
	p.eachInARackOfItsOwn("leaderworkerset.sigs.k8s.io/group-index")
	p.finished()
}
