package suite

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

const (
	blockLabel = "e2e.muster.dev/block"
	rackLabel  = "e2e.muster.dev/rack"
	requires   = "muster.dev/topology-required"
	prefers    = "muster.dev/topology-preferred"
	inSegments = "muster.dev/topology-segments-required"
)

// Two blocks of two racks of two nodes of eight GPUs each, and a policy that knows blocks and racks; with more lines of
// its section fabric.
func withRacks(t *testing.T, more ...string) *env {
	t.Helper()
	e := in(t, mustered(t, worldOptions{}))
	nodes := objects.Nodes(e.ns, 8, 8)
	for i, node := range nodes {
		node.Labels[blockLabel] = fmt.Sprintf("%s-b%d", e.ns, i/4)
		node.Labels[rackLabel] = fmt.Sprintf("%s-r%d", e.ns, i/2)
	}
	e.must(e.writePolicy(`fabric:
  trees:
  - name: dc
    levels:
    - {name: block, labels: [` + blockLabel + `]}
    - {name: rack, labels: [` + rackLabel + `]}
` + strings.Join(more, "")))
	t.Cleanup(func() {
		if err := e.writePolicy(""); err != nil {
			t.Errorf("the policy is not put back: %v", err)
		}
		// The next test waits for its own, which has the same labels.
		e.eventually(15*time.Second, "the policy is put back", func() error {
			policy, err := e.muster.Policy()
			if err == nil && strings.Contains(policy, rackLabel) {
				err = errorf("it is\n%s", policy)
			}
			return err
		})
	})
	e.eventually(15*time.Second, "the policy is loaded", func() error {
		policy, err := e.muster.Policy()
		if err == nil && !strings.Contains(policy, rackLabel) {
			err = errorf("it is\n%s", policy)
		}
		return err
	})
	e.addNodes(nodes...)
	return e
}

// label is what each of the gang's members has for it on its node; members in the order of their names.
func (e *env) label(g objects.Gang, label string) []string {
	e.t.Helper()
	var out []string
	for _, pod := range e.byNumber(g) {
		node, err := e.Client.CoreV1().Nodes().Get(e.ctx, pod.Spec.NodeName, metav1.GetOptions{})
		e.must(err)
		out = append(out, node.Labels[label])
	}
	return out
}

func (e *env) byNumber(g objects.Gang) []corev1.Pod {
	e.t.Helper()
	pods, err := e.pods(g)
	e.must(err)
	byName := map[string]corev1.Pod{}
	for _, pod := range pods {
		byName[pod.Name] = pod
	}
	var out []corev1.Pod
	for i := range g.Members {
		out = append(out, byName[g.Pod(i).Name])
	}
	return out
}

func (e *env) inOne(g objects.Gang, label string) string {
	e.t.Helper()
	values := e.label(g, label)
	for _, value := range values {
		if value != values[0] {
			e.t.Fatalf("%s is in several of %s: %v", g.Name, label, values)
		}
	}
	return values[0]
}

func TestGangsThatRequireARackAreEachInOneAndWaitForOne(t *testing.T) {
	e := withRacks(t)
	var gangs []objects.Gang
	for i := range 4 {
		gangs = append(gangs, e.gang(fmt.Sprintf("g%d", i), 4, 4, objects.Annotated(requires, "rack")))
	}
	// All four want the racks in one cycle.
	e.add(gangs...)
	e.whole(60*time.Second, gangs...)
	used := map[string]string{}
	for _, g := range gangs {
		rack := e.inOne(g, rackLabel)
		if other, taken := used[rack]; taken {
			t.Errorf("%s and %s are both in %s", other, g.Name, rack)
		}
		used[rack] = g.Name
	}
	late := e.gang("late", 4, 4, objects.Annotated(requires, "rack"))
	never := e.gang("never", 5, 4, objects.Annotated(requires, "rack"))
	e.add(late, never)
	e.eventually(30*time.Second, "both say what they wait for", func() error {
		if why := e.why(late); !strings.Contains(why, "it requires one domain of level rack; it could fit") {
			return errorf("late: %s", why)
		}
		if why := e.why(never); !strings.Contains(why, "NeverFits") || !strings.Contains(why, "no domain of level rack can ever hold it") {
			return errorf("never: %s", why)
		}
		return nil
	})
	rack := e.inOne(gangs[3], rackLabel)
	e.delete(gangs[3])
	e.whole(60*time.Second, late)
	if got := e.inOne(late, rackLabel); got != rack {
		t.Errorf("late is in %s, and %s became free", got, rack)
	}
}

func TestNeighboursInRankShareARackAndNoGPUIsGivenTwice(t *testing.T) {
	e := withRacks(t)
	wide := e.gang("wide", 8, 4, objects.Annotated(prefers, "rack"))
	e.add(wide)
	e.whole(60*time.Second, wide)
	e.inOne(wide, blockLabel)
	racks := e.label(wide, rackLabel)
	for i, rack := range racks {
		if rack != racks[i/4*4] || (i == 4 && rack == racks[0]) {
			t.Fatalf("racks by rank: %v", racks)
		}
	}
	blocks := e.label(wide, blockLabel)
	for i, pod := range e.byNumber(wide) {
		if got := pod.Annotations["muster.dev/rank"]; got != strconv.Itoa(i) {
			t.Errorf("%s has the rank %q", pod.Name, got)
		}
		path := blocks[i] + "/" + racks[i] + "/" + pod.Spec.NodeName
		if got := pod.Annotations["muster.dev/topology-path"]; got != path {
			t.Errorf("%s has the path %q, its node %s", pod.Name, got, path)
		}
	}
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	more := e.gang("more", 8, 4)
	e.add(more)
	e.whole(60*time.Second, more)
	taken := map[string]string{}
	for _, g := range []objects.Gang{wide, more} {
		for _, pod := range e.byNumber(g) {
			indices := strings.Split(pod.Annotations["muster.dev/gpus"], ",")
			if len(indices) != 4 {
				t.Errorf("%s has the GPUs %q", pod.Name, pod.Annotations["muster.dev/gpus"])
			}
			for _, index := range indices {
				if n, err := strconv.Atoi(index); err != nil || n < 0 || n > 7 {
					t.Errorf("%s has a GPU %q", pod.Name, index)
				}
				gpu := pod.Spec.NodeName + " GPU " + index
				if other, twice := taken[gpu]; twice {
					t.Errorf("%s is that of %s and of %s", gpu, other, pod.Name)
				}
				taken[gpu] = pod.Name
			}
		}
	}
}

func TestALostMemberIsReplacedInTheRackOfTheOthers(t *testing.T) {
	e := withRacks(t)
	train := e.gang("train", 2, 8, objects.Annotated(requires, "rack"))
	e.add(train)
	e.whole(60*time.Second, train)
	rack := e.inOne(train, rackLabel)
	e.replacePod(train.Pod(1))
	e.whole(60*time.Second, train)
	if got := e.inOne(train, rackLabel); got != rack {
		t.Errorf("it is in %s and was in %s", got, rack)
	}
}

func TestSegmentsAreEachInOneRackAndALostMemberComesBackIntoItsOwn(t *testing.T) {
	e := withRacks(t)
	// One rack has room for one member only: no segment of two.
	small := e.gang("small", 1, 8)
	e.add(small)
	e.whole(60*time.Second, small)
	wide := e.gang("wide", 6, 8, objects.Annotated(inSegments, "rack=2"))
	odd := e.gang("odd", 3, 1, objects.Annotated(inSegments, "rack=2"))
	e.add(wide, odd)
	e.whole(60*time.Second, wide)
	racks := e.label(wide, rackLabel)
	for i := range racks {
		if racks[i] != racks[i/2*2] {
			t.Fatalf("racks by rank: %v", racks)
		}
	}
	e.eventually(30*time.Second, "a gang that is not whole segments says so", func() error {
		if why := e.why(odd); !strings.Contains(why, "3 = 1 × 2 + 1") {
			return errorf("%s", why)
		}
		return nil
	})
	e.replacePod(wide.Pod(3))
	e.whole(60*time.Second, wide)
	if again := e.label(wide, rackLabel); again[3] != racks[3] {
		t.Errorf("it is in %s and was in %s", again[3], racks[3])
	}
}

func TestWhatTeamsWriteForKueueKeepsAGangInOneRack(t *testing.T) {
	e := withRacks(t)
	train := e.gang("train", 4, 4, objects.Annotated("kueue.x-k8s.io/podset-required-topology", rackLabel))
	e.add(train)
	e.whole(60*time.Second, train)
	e.inOne(train, rackLabel)
}

// inRoles gives each member, in the order of their names, a role.
func inRoles(g objects.Gang, roles ...string) objects.PodOption {
	return func(pod *corev1.Pod) {
		for i, role := range roles {
			if pod.Name == fmt.Sprintf("%s-%d", g.Name, i) {
				pod.Labels["muster.dev/role"] = role
			}
		}
	}
}

func TestRolesOfAGangAreEachInOneRackOfItsBlock(t *testing.T) {
	e := withRacks(t)
	serve := e.gang("serve", 5, 4, objects.Annotated(requires, "block"),
		objects.Annotated("muster.dev/topology-roles-required", "rack=prefill,rack=decode"))
	serve.Options = append(serve.Options, inRoles(serve, "prefill", "prefill", "prefill", "decode", "decode"))
	e.add(serve)
	e.whole(60*time.Second, serve)
	e.inOne(serve, blockLabel)
	racks := e.label(serve, rackLabel)
	if racks[0] != racks[1] || racks[1] != racks[2] || racks[3] != racks[4] {
		t.Fatalf("racks of three and of two members: %v", racks)
	}
	// Another one of the same kind needs the other block: the first has no room for three beside one another.
	more := e.gang("more", 5, 4, serve.Options...)
	more.Options = append(more.Options, inRoles(more, "prefill", "prefill", "prefill", "decode", "decode"))
	e.add(more)
	e.whole(60*time.Second, more)
	if e.inOne(more, blockLabel) == e.inOne(serve, blockLabel) {
		t.Errorf("both are in one block")
	}
	e.replacePod(serve.Pod(4))
	e.whole(60*time.Second, serve)
	if again := e.label(serve, rackLabel); again[4] != racks[4] {
		t.Errorf("the lost member is in %s and was in %s", again[4], racks[4])
	}
}

func TestANodeOfEachRackIsKeptForMembersThatAreLost(t *testing.T) {
	e := withRacks(t, "  reserve:\n  - {level: rack, nodes: 1}\n")
	train := e.gang("train", 4, 8)
	e.add(train)
	e.whole(60*time.Second, train)
	racks := map[string]bool{}
	for _, rack := range e.label(train, rackLabel) {
		racks[rack] = true
	}
	if len(racks) != 4 {
		t.Errorf("its four members are in %d racks, each of which has one node that is kept", len(racks))
	}
	late := e.gang("late", 1, 8)
	e.add(late)
	e.eventually(30*time.Second, "a new gang is told of the nodes that are kept", func() error {
		if why := e.why(late); !strings.Contains(why, "kept") {
			return errorf("%s", why)
		}
		return nil
	})
	lost := train.Pod(1)
	node := e.byNumber(train)[1].Spec.NodeName
	_, err := e.Kubectl(e.ctx, "", "cordon", node)
	e.must(err)
	e.replacePod(lost)
	e.whole(60*time.Second, train)
	if again := e.byNumber(train)[1].Spec.NodeName; again == node {
		t.Errorf("the lost member is on %s again, which is cordoned", again)
	}
	if n := e.bound(late); n > 0 {
		t.Errorf("the new gang has a node that was kept")
	}
}
