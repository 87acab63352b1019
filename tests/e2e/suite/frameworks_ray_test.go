package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// autoscaledRay lets Ray's autoscaler choose between two workers and six; there are four at first.
func autoscaledRay(t *testing.T) framework {
	t.Helper()
	f := named(t, "RayCluster").with(t, "  rayVersion: \"2.46.0\"\n", "  enableInTreeAutoscaling: true\n")
	insert := f.change
	f.change = func(sample string) string {
		const bounds = "    minReplicas: 4\n    maxReplicas: 4\n"
		if strings.Count(sample, bounds) != 1 {
			t.Fatalf("the sample has not %q", bounds)
		}
		return strings.Replace(insert(sample), bounds, "    minReplicas: 2\n    maxReplicas: 6\n", 1)
	}
	f.gpus = 0 // nodes: the test adds them
	return f
}

// scaledTo plays Ray's autoscaler: it wants so many workers, and without those that it names.
func (p *play) scaledTo(workers int, without ...string) {
	p.t.Helper()
	named := ""
	if len(without) > 0 {
		named = `"` + strings.Join(without, `","`) + `"`
	}
	const group = "/spec/workerGroupSpecs/0/"
	_, err := p.Kubectl(p.ctx, "", "-n", p.ns, "patch", "raycluster", "ray", "--type=json", "--patch="+fmt.Sprintf(
		`[{"op":"replace","path":"%[1]sreplicas","value":%[2]d},{"op":"add","path":"%[1]sscaleStrategy","value":{"workersToDelete":[%[3]s]}}]`,
		group, workers, named))
	p.must(err)
}

// isOf waits until the cluster has so many pods, of which so many have a node, and needs three: the head and two workers.
func (p *play) isOf(pods, bound int) {
	p.t.Helper()
	p.wants = map[string]size{"raycluster:ray": {pods, 3}}
	check := func() error {
		if _, err := p.asOwned(); err != nil {
			return err
		}
		return p.bindsOnly(bound, pods)
	}
	p.eventually(60*time.Second, fmt.Sprintf("%d of %d pods have a node", bound, pods), func() error {
		if err := check(); err != nil {
			return errorf("%w\n%s", err, p.waits())
		}
		return nil
	})
	p.always(3*time.Second, fmt.Sprintf("%d of %d pods have a node", bound, pods), check)
}

func TestARayClusterThatIsScaledNeedsWhatIsNeverScaledAwayAndTheOthersStartOneByOne(t *testing.T) {
	p := autoscaledRay(t).begin(t)
	p.addPlaces("a")
	p.apply()
	p.isOf(5, 0) // the head has room, and one worker
	for i, place := range []string{"b", "c", "d"} {
		p.addPlaces(place)
		p.isOf(5, 3+i)
	}
	p.scaledTo(6)
	p.isOf(7, 5)
	p.addPlaces("e")
	p.isOf(7, 6)
	p.addPlaces("f")
	p.isOf(7, 7)
	p.scaledTo(5, p.one("ray.io/node-type", "worker").Name)
	p.isOf(6, 6)
	p.finished()
}
