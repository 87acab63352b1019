package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"muster.dev/e2e/objects"
)

const channelDriver = "compute-domain.nvidia.com"

// addChannels does what NVIDIA's DRA driver does for a ComputeDomain: nodes publish channels, and a template of claims for
// them is made. It gives kube-scheduler several of a node, where the driver has one, so that only Muster keeps pods apart.
func (e *env) addChannels(nodes int, template string) {
	e.t.Helper()
	class := e.ns + ".example.com"
	_, err := e.Client.ResourceV1().DeviceClasses().Create(e.ctx, &resourcev1.DeviceClass{
		ObjectMeta: metav1.ObjectMeta{Name: class},
		Spec: resourcev1.DeviceClassSpec{Selectors: []resourcev1.DeviceSelector{{
			CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + channelDriver + `"`},
		}}},
	}, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		if err := e.Client.ResourceV1().DeviceClasses().Delete(e.ctx, class, metav1.DeleteOptions{}); err != nil {
			e.t.Error(err)
		}
	})
	for i := range nodes {
		node := fmt.Sprintf("%s-%d", e.ns, i)
		slice := &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: node}}
		slice.Spec = resourcev1.ResourceSliceSpec{
			Driver: channelDriver, NodeName: &node,
			Pool: resourcev1.ResourcePool{Name: node, Generation: 1, ResourceSliceCount: 1},
		}
		for channel := range 4 {
			slice.Spec.Devices = append(slice.Spec.Devices, resourcev1.Device{Name: fmt.Sprintf("channel-%d", channel)})
		}
		_, err := e.Client.ResourceV1().ResourceSlices().Create(e.ctx, slice, metav1.CreateOptions{})
		e.must(err)
		e.t.Cleanup(func() {
			if err := e.Client.ResourceV1().ResourceSlices().Delete(e.ctx, node, metav1.DeleteOptions{}); err != nil {
				e.t.Error(err)
			}
		})
	}
	_, err = e.Client.ResourceV1().ResourceClaimTemplates(e.ns).Create(e.ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: template},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{
			Requests: []resourcev1.DeviceRequest{{
				Name: "channel", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: class},
			}},
		}}},
	}, metav1.CreateOptions{})
	e.must(err)
}

func (e *env) addComputeDomain(template string) {
	e.t.Helper()
	domain := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "resource.nvidia.com/v1beta1", "kind": "ComputeDomain",
		"metadata": map[string]any{"namespace": e.ns, "name": "domain"},
		"spec": map[string]any{
			"numNodes": int64(0), "channel": map[string]any{"resourceClaimTemplate": map[string]any{"name": template}},
		},
	}}
	resource := optional("resource.nvidia.com", "v1beta1", "computedomains")
	_, err := e.Dynamic.Resource(resource).Namespace(e.ns).Create(e.ctx, domain, metav1.CreateOptions{})
	e.must(err)
}

// nodesOf counts the nodes that the gang's members are on.
func (e *env) nodesOf(g objects.Gang) int {
	e.t.Helper()
	nodes := map[string]bool{}
	for _, pod := range e.byNumber(g) {
		nodes[pod.Spec.NodeName] = true
	}
	return len(nodes)
}

func TestPodsOfAComputeDomainAreEachOnANodeOfTheirOwn(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.defineOptionalKinds()
	const template = "domain-channel"
	e.addGPUNodes(2)
	e.addChannels(2, template)
	claims := objects.WithClaimOf(template)

	// Nothing says yet what the claims are for: both pods fit beside each other.
	early := e.gang("early", 2, 1, claims)
	e.add(early)
	e.whole(60*time.Second, early)
	if n := e.nodesOf(early); n != 1 {
		t.Errorf("without a ComputeDomain the gang is on %d nodes", n)
	}
	e.delete(early)

	holder := e.gang("holder", 2, 8)
	e.add(holder)
	e.whole(60*time.Second, holder)
	train := e.gang("train", 2, 2, claims)
	e.add(train) // it waits, and the ComputeDomain comes after it
	e.eventually(30*time.Second, "train waits", func() error {
		if why := e.why(train); !strings.Contains(why, "NotEnoughGpus") {
			return errorf("%s", why)
		}
		return nil
	})
	e.addComputeDomain(template)
	e.delete(holder)
	e.whole(60*time.Second, train)
	if n := e.nodesOf(train); n != 2 {
		t.Errorf("train has channels of a ComputeDomain and is on %d nodes", n)
	}

	// Twelve GPUs are free, and no channel.
	next := e.gang("next", 2, 2, claims)
	cards := e.gang("cards", 2, 2, claims, objects.Annotated("muster.dev/compute-domain", "false"))
	e.add(next, cards)
	e.whole(60*time.Second, cards)
	if n := e.nodesOf(cards); n != 1 {
		t.Errorf("cards has no channels, says its annotation, and is on %d nodes", n)
	}
	e.eventually(30*time.Second, "next waits for channels", func() error {
		if why := e.why(next); !strings.Contains(why, "NotEnoughChannels") {
			return errorf("%s", why)
		}
		return nil
	})
	e.end(train)
	e.whole(60*time.Second, next)
	if n := e.nodesOf(next); n != 2 {
		t.Errorf("next has channels of a ComputeDomain and is on %d nodes", n)
	}
}
