package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

const csiDriver = "csi.example.com"

// takesVolumes says how many volumes of the driver the node takes, as a kubelet does.
func (e *env) takesVolumes(node string, count int32) {
	e.t.Helper()
	_, err := e.Client.StorageV1().CSINodes().Create(e.ctx, &storagev1.CSINode{
		ObjectMeta: metav1.ObjectMeta{Name: node},
		Spec: storagev1.CSINodeSpec{Drivers: []storagev1.CSINodeDriver{{
			Name: csiDriver, NodeID: node, Allocatable: &storagev1.VolumeNodeResources{Count: &count},
		}}},
	}, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() { _ = e.Client.StorageV1().CSINodes().Delete(e.ctx, node, metav1.DeleteOptions{}) })
}

// addAttached adds a claim that is bound to a volume of the driver, which every node reaches.
func (e *env) addAttached(name string) {
	e.t.Helper()
	e.addReadyVolume(name, nil, corev1.PersistentVolumeSource{
		CSI: &corev1.CSIPersistentVolumeSource{Driver: csiDriver, VolumeHandle: e.ns + "-" + name},
	})
}

// addReadyVolume adds a claim and a volume that is bound to it.
func (e *env) addReadyVolume(name string, labels map[string]string, source corev1.PersistentVolumeSource) {
	e.t.Helper()
	volume := e.ns + "-" + name
	_, err := e.Client.CoreV1().PersistentVolumes().Create(e.ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: volume, Labels: labels},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: oneGibibyte(), StorageClassName: e.ns,
			AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
			ClaimRef:                      &corev1.ObjectReference{Namespace: e.ns, Name: name},
			PersistentVolumeSource:        source,
		},
	}, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		_ = e.Client.CoreV1().PersistentVolumes().Delete(e.ctx, volume, metav1.DeleteOptions{})
	})
	e.addClaim(name)
}

func (e *env) claimsBound(names ...string) {
	e.t.Helper()
	e.eventually(60*time.Second, "the claims are bound", func() error {
		for _, name := range names {
			claim, err := e.Client.CoreV1().PersistentVolumeClaims(e.ns).Get(e.ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			if claim.Status.Phase != corev1.ClaimBound {
				return errorf("%s is %s", name, claim.Status.Phase)
			}
		}
		return nil
	})
}

// addWithClaims adds the gang, of which each member names the claim of its number.
func (e *env) addWithClaims(g objects.Gang, claims []string) {
	e.t.Helper()
	e.addGroup(g)
	pods := g.Pods()
	for i, pod := range pods {
		objects.WithClaim(claims[i])(pod)
	}
	e.addPods(pods...)
}

func TestMembersWithAVolumeEachStartOnNodesThatTakeOneEach(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(4)
	for i := range 4 {
		e.takesVolumes(fmt.Sprintf("%s-%d", e.ns, i), 1)
	}
	var claims []string
	for i := range 5 {
		claims = append(claims, fmt.Sprintf("data-%d", i))
		e.addAttached(claims[i])
	}
	e.claimsBound(claims...)
	workers := e.gang("workers", 4, 1)
	e.addWithClaims(workers, claims)
	e.whole(30*time.Second, workers)
	if n := e.nodesOf(workers); n != 4 {
		t.Errorf("they are on %d nodes", n)
	}
	late := e.gang("late", 1, 1)
	e.addWithClaims(late, claims[4:])
	e.eventually(15*time.Second, "it says that no node takes its volume", func() error {
		if why := e.why(late); !strings.Contains(why, "NodeVolumes") || !strings.Contains(why, "4 node(s) exceed max volume count") {
			return errorf("%s", why)
		}
		return nil
	})
	e.delete(workers)
	e.whole(30*time.Second, late)
	for _, g := range []objects.Gang{workers, late} {
		if refused := e.refusals(g); len(refused) > 0 {
			t.Errorf("kube-scheduler refused %v", refused)
		}
	}
}

func TestEachMemberStartsWhereOneOfTheVolumesMadeByHandIsLeftForIt(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	nodes := objects.Nodes(e.ns, 3, 8)
	for _, node := range nodes {
		node.Labels[corev1.LabelHostname] = node.Name
	}
	e.addNodes(nodes...)
	waits := storagev1.VolumeBindingWaitForFirstConsumer
	_, err := e.Client.StorageV1().StorageClasses().Create(e.ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: e.ns}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: &waits,
	}, metav1.CreateOptions{})
	e.must(err)
	t.Cleanup(func() { _ = e.Client.StorageV1().StorageClasses().Delete(e.ctx, e.ns, metav1.DeleteOptions{}) })
	claims := []string{"disk-0", "disk-1"}
	for _, claim := range claims {
		e.addClaim(claim)
	}
	e.addVolume(e.ns+"-one", corev1.LabelHostname, nodes[1].Name)
	workers := e.gang("workers", 2, 1)
	e.addWithClaims(workers, claims)
	e.eventually(15*time.Second, "it says that a volume is missing", func() error {
		if why := e.why(workers); !strings.Contains(why, "reach one that is left for each of its claims") {
			return errorf("%s", why)
		}
		return nil
	})
	e.addVolume(e.ns+"-two", corev1.LabelHostname, nodes[2].Name)
	e.whole(60*time.Second, workers)
	if n := e.nodesOf(workers); n != 2 {
		t.Errorf("they are on %d nodes", n)
	}
	if refused := e.refusals(workers); len(refused) > 0 {
		t.Errorf("kube-scheduler refused %v", refused)
	}
}
