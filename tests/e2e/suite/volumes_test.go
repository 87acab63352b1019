package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// addClaim adds a claim of a class that needs no StorageClass: it is bound when there is a volume.
func (e *env) addClaim(name string) {
	e.t.Helper()
	class := e.ns
	_, err := e.Client.CoreV1().PersistentVolumeClaims(e.ns).Create(e.ctx, &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, StorageClassName: &class,
			Resources: corev1.VolumeResourceRequirements{Requests: oneGibibyte()},
		},
	}, metav1.CreateOptions{})
	e.must(err)
}

// addVolume adds a volume of that class which only nodes with the label reach.
func (e *env) addVolume(name, label, value string) {
	e.t.Helper()
	_, err := e.Client.CoreV1().PersistentVolumes().Create(e.ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: oneGibibyte(), StorageClassName: e.ns,
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: "/data"}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{
					Key: label, Operator: corev1.NodeSelectorOpIn, Values: []string{value},
				}},
			}}}},
		},
	}, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		_ = e.Client.CoreV1().PersistentVolumes().Delete(e.ctx, name, metav1.DeleteOptions{})
	})
}

func oneGibibyte() corev1.ResourceList {
	return corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}
}

// addWithClaim adds the gang, of which the last member names the claim.
func (e *env) addWithClaim(g objects.Gang, claim string) {
	e.t.Helper()
	e.addGroup(g)
	pods := g.Pods()
	objects.WithClaim(claim)(pods[len(pods)-1])
	e.addPods(pods...)
}

// refusals are the attempts of kube-scheduler to place the gang's pods that failed.
func (e *env) refusals(g objects.Gang) []string {
	e.t.Helper()
	events, err := e.Client.CoreV1().Events(e.ns).List(e.ctx, metav1.ListOptions{})
	e.must(err)
	var out []string
	for _, event := range events.Items {
		if event.Reason == "FailedScheduling" && strings.HasPrefix(event.InvolvedObject.Name, g.Name+"-") &&
			!strings.Contains(event.Message, "gated") {
			out = append(out, event.InvolvedObject.Name+": "+event.Message)
		}
	}
	return out
}

// startsAtOnceIn: all of the gang is bound in that rack, and kube-scheduler refused none of it.
func (e *env) startsAtOnceIn(rack string, g objects.Gang) {
	e.t.Helper()
	e.whole(15*time.Second, g)
	if got := e.inOne(g, rackLabel); got != rack {
		e.t.Errorf("it is in %s, its volume in %s", got, rack)
	}
	if refused := e.refusals(g); len(refused) > 0 {
		e.t.Errorf("kube-scheduler refused %v", refused)
	}
}

func TestAGangStartsAtOnceInTheDomainWhereTheVolumeOfOneMemberIs(t *testing.T) {
	e := withRacks(t)
	e.addClaim("data")
	rack := e.ns + "-r3"
	e.addVolume(e.ns+"-data", rackLabel, rack)
	e.eventually(30*time.Second, "the claim is bound", func() error {
		claim, err := e.Client.CoreV1().PersistentVolumeClaims(e.ns).Get(e.ctx, "data", metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			err = errorf("it is %s", claim.Status.Phase)
		}
		return err
	})
	workers := e.gang("workers", 16, 1, objects.Annotated(requires, "rack"))
	e.addWithClaim(workers, "data")
	e.startsAtOnceIn(rack, workers)
}

func TestAGangWithAMissingClaimEvictsNobodyAndStartsWhenItsVolumeIsThere(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.definePriorities()
	e.setPolicy("preemption: lowerPriority")
	nodes := objects.Nodes(e.ns, 4, 8)
	for i, node := range nodes {
		node.Labels[rackLabel] = fmt.Sprintf("%s-r%d", e.ns, i/2)
	}
	e.addNodes(nodes...)
	low := e.gang("low", 4, 8)
	e.add(low)
	e.whole(60*time.Second, low)
	high := e.gang("high", 2, 8, objects.WithPriorityClass(urgentClass))
	e.addWithClaim(high, "data")
	missing := `pod high-1: persistentvolumeclaim "data" not found; create it in namespace ` + e.ns
	e.eventually(15*time.Second, "it says which claim is missing", func() error {
		if why := e.why(high); !strings.Contains(why, "Forming") || !strings.Contains(why, missing) {
			return errorf("%s", why)
		}
		return nil
	})
	e.always(15*time.Second, "nobody is evicted for it", func() error {
		if n := e.bound(low); n != 4 {
			return errorf("%d of 4 are left", n)
		}
		return nil
	})
	e.delete(low)
	e.addClaim("data")
	e.eventually(15*time.Second, "it says that the claim waits", func() error {
		if why := e.why(high); !strings.Contains(why, "unbound immediate PersistentVolumeClaims") {
			return errorf("%s", why)
		}
		return nil
	})
	e.addVolume(e.ns+"-data", rackLabel, e.ns+"-r1")
	// The controller that binds claims looks every 15 seconds.
	e.eventually(40*time.Second, "the claim is bound", func() error {
		claim, err := e.Client.CoreV1().PersistentVolumeClaims(e.ns).Get(e.ctx, "data", metav1.GetOptions{})
		if err == nil && claim.Status.Phase != corev1.ClaimBound {
			err = errorf("it is %s", claim.Status.Phase)
		}
		return err
	})
	e.whole(8*time.Second, high)
	if got := e.label(high, rackLabel)[1]; got != e.ns+"-r1" {
		t.Errorf("high-1 is in %s, its volume in %s-r1", got, e.ns)
	}
}

func TestAGangStartsAtOnceInTheZoneThatTheLabelsOfAVolumeName(t *testing.T) {
	e := withRacks(t)
	rack := e.ns + "-r3"
	for i := range 8 {
		e.must(e.patchNode(fmt.Sprintf("%s-%d", e.ns, i),
			fmt.Sprintf(`{"metadata":{"labels":{%q:"%s-r%d"}}}`, corev1.LabelTopologyZone, e.ns, i/2)))
	}
	// Attached by a plugin that was in Kubernetes: no affinity says where it is.
	e.addReadyVolume("data", map[string]string{corev1.LabelTopologyZone: rack}, corev1.PersistentVolumeSource{
		AWSElasticBlockStore: &corev1.AWSElasticBlockStoreVolumeSource{VolumeID: "vol-" + e.ns},
	})
	e.claimsBound("data")
	workers := e.gang("workers", 16, 1, objects.Annotated(requires, "rack"))
	e.addWithClaim(workers, "data")
	e.startsAtOnceIn(rack, workers)
}
