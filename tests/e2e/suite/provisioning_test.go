package suite

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// The API server checks what Muster asks cluster-autoscaler for, by that one's own definition and with Muster's own rights. The
// test plays cluster-autoscaler.

const (
	provisioningClass  = "queued-provisioning.gke.io" // not the default
	consumesAnnotation = "autoscaling.x-k8s.io/consume-provisioning-request"
	classAnnotation    = "autoscaling.x-k8s.io/provisioning-class-name"
	ofMuster           = "app.kubernetes.io/managed-by=muster"
	refusal            = "no such machines"
)

var provisioningRequests = optional("autoscaling.x-k8s.io", "v1", "provisioningrequests")

// provisioningRequest is what counts of one.
type provisioningRequest struct {
	metav1.ObjectMeta `json:"metadata"`
	Spec              struct {
		Class   string `json:"provisioningClassName"`
		PodSets []struct {
			Count       int                         `json:"count"`
			TemplateRef corev1.LocalObjectReference `json:"podTemplateRef"`
		} `json:"podSets"`
	} `json:"spec"`
}

// asking is a test's part of a world that serves ProvisioningRequests, which Muster follows, with a policy that asks by them.
func asking(t *testing.T) *env {
	t.Helper()
	e := in(t, mustered(t, worldOptions{}))
	e.installRequests()
	e.followsRequests()
	e.growsBy("provisioningRequest", "  provisioningClass: "+provisioningClass+"\n")
	return e
}

// installRequests has the API server serve ProvisioningRequests.
func (e *env) installRequests() {
	e.t.Helper()
	if !controlplane.HasProvisioningRequests() {
		e.t.Skip("there is no definition of ProvisioningRequests; tests/e2e/build.sh kueue tells why")
	}
	e.must(e.InstallProvisioningRequests(e.ctx))
}

func (e *env) followsRequests() {
	e.t.Helper()
	e.eventually(90*time.Second, "Muster follows ProvisioningRequests", func() error {
		synced, err := e.muster.Metric("muster_watch_synced", `resource="provisioningrequests.autoscaling.x-k8s.io"`)
		if err == nil && synced != 1 {
			err = errorf("muster_watch_synced is %v", synced)
		}
		return err
	})
}

// addJob makes the gang as an Indexed Job, without a PodGroup.
func (e *env) addJob(g objects.Gang) {
	e.t.Helper()
	g.Flavour = objects.Flavour{Name: "an Indexed Job"}
	e.addGroup(g)
	pod := objects.Pod(g.Namespace, g.Name, g.GPUs, objects.Labelled(objects.GangLabel, g.Name))
	if e.Options.Version == controlplane.Older { // where no admission policy adds the gate
		objects.Gated(pod)
	}
	count, mode := int32(g.Members), batchv1.IndexedCompletion
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: g.Name}, Spec: batchv1.JobSpec{
		Completions: &count, Parallelism: &count, CompletionMode: &mode,
		Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: pod.Labels}, Spec: pod.Spec},
	}}
	_, err := e.Client.BatchV1().Jobs(e.ns).Create(e.ctx, job, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() { // before the namespace's pods go, which it would recreate
		if err := e.deleteJob(g); err != nil && !apierrors.IsNotFound(err) {
			e.t.Error(err)
		}
	})
}

func (e *env) deleteJob(g objects.Gang) error {
	background := metav1.DeletePropagationBackground
	return e.Client.BatchV1().Jobs(e.ns).Delete(e.ctx, g.Name, metav1.DeleteOptions{PropagationPolicy: &background})
}

// goesWith tells whether the garbage collector takes the object along with the gang's PodGroup or Job.
func goesWith(g objects.Gang, object metav1.ObjectMeta) bool {
	return len(object.OwnerReferences) == 1 && object.OwnerReferences[0].Name == g.Name
}

func (e *env) requestsOf(g objects.Gang) ([]provisioningRequest, error) {
	list, err := e.Dynamic.Resource(provisioningRequests).Namespace(e.ns).List(e.ctx, metav1.ListOptions{LabelSelector: ofMuster})
	if err != nil {
		return nil, err
	}
	text, err := list.MarshalJSON()
	if err != nil {
		return nil, err
	}
	var read struct {
		Items []provisioningRequest `json:"items"`
	}
	err = json.Unmarshal(text, &read)
	return slices.DeleteFunc(read.Items, func(r provisioningRequest) bool { return !goesWith(g, r.ObjectMeta) }), err
}

func (e *env) podTemplatesOf(g objects.Gang) ([]corev1.PodTemplate, error) {
	list, err := e.Client.CoreV1().PodTemplates(e.ns).List(e.ctx, metav1.ListOptions{LabelSelector: ofMuster})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p corev1.PodTemplate) bool { return !goesWith(g, p.ObjectMeta) }), nil
}

// asksOnce waits until the gang has a ProvisioningRequest, and fails where it makes another one or opens a gate meanwhile.
func (e *env) asksOnce(g objects.Gang) provisioningRequest {
	e.t.Helper()
	var made []provisioningRequest
	one := func() (err error) {
		if made, err = e.requestsOf(g); err == nil && len(made) != 1 {
			err = errorf("it has %d; Scale-up: %q; %s", len(made), e.scaleUp(g), e.why(g))
		}
		return err
	}
	e.eventually(60*time.Second, g.Name+" has a ProvisioningRequest", one)
	e.always(3*time.Second, g.Name+" has that one alone", one)
	e.staysGated(time.Second, g)
	return made[0]
}

// asksForItself fails unless the request is for all members of the gang as they are.
func (e *env) asksForItself(g objects.Gang, request provisioningRequest) {
	e.t.Helper()
	if request.Spec.Class != provisioningClass {
		e.t.Errorf("the request is of class %s", request.Spec.Class)
	}
	count := 0
	for _, set := range request.Spec.PodSets {
		count += set.Count
		template, err := e.Client.CoreV1().PodTemplates(e.ns).Get(e.ctx, set.TemplateRef.Name, metav1.GetOptions{})
		e.must(err)
		spec := template.Template.Spec
		if gpus := spec.Containers[0].Resources.Limits[objects.GPU]; gpus.Value() != int64(g.GPUs) {
			e.t.Errorf("pods of %s have %s GPUs", template.Name, gpus.String())
		}
		if len(spec.SchedulingGates) > 0 || spec.NodeName != "" || spec.SchedulerName != objects.Muster {
			e.t.Errorf("%s is of other pods: %+v", template.Name, spec)
		}
		if !reflect.DeepEqual(template.OwnerReferences, request.OwnerReferences) {
			e.t.Errorf("%s belongs to %v, its request to %v", template.Name, template.OwnerReferences, request.OwnerReferences)
		}
	}
	if count != g.Members {
		e.t.Errorf("%d pods of %d are asked for: %+v", count, g.Members, request.Spec)
	}
}

// scaleUp is the line Scale-up of `muster explain gang`.
func (e *env) scaleUp(g objects.Gang) string {
	gang, err := e.muster.Gang(g.Namespace, g.Name)
	if err != nil {
		return err.Error()
	}
	return gang.ScaleUp
}

func (e *env) scaleUpSays(g objects.Gang, parts ...string) {
	e.t.Helper()
	e.eventually(30*time.Second, "Scale-up of "+g.Name+" says "+strings.Join(parts, ", "), func() error {
		text := e.scaleUp(g)
		for _, part := range parts {
			if !strings.Contains(text, part) {
				return errorf("it says %q", text)
			}
		}
		return nil
	})
}

// answers plays cluster-autoscaler: these conditions of the request are True.
func (e *env) answers(request provisioningRequest, conditions ...string) {
	e.t.Helper()
	var all []metav1.Condition
	for _, name := range conditions {
		all = append(all, metav1.Condition{
			Type: name, Status: metav1.ConditionTrue, Reason: "Played", Message: refusal, LastTransitionTime: metav1.Now(),
		})
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{"conditions": all}})
	e.must(err)
	_, err = e.Dynamic.Resource(provisioningRequests).Namespace(e.ns).Patch(e.ctx, request.Name, types.MergePatchType, patch,
		metav1.PatchOptions{}, "status")
	e.must(err)
}

// staysGated fails where a pod of these gangs is let go, or has what makes cluster-autoscaler never count it again.
func (e *env) staysGated(lasting time.Duration, gangs ...objects.Gang) {
	e.t.Helper()
	e.always(lasting, "all pods stay behind the gate", func() error {
		for _, g := range gangs {
			pods, err := e.pods(g)
			if err == nil && len(pods) != g.Members {
				err = errorf("%s has %d pods", g.Name, len(pods))
			}
			if err != nil {
				return err
			}
			for _, pod := range pods {
				gated := slices.Contains(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: "muster.dev/gang"})
				if !gated || pod.Spec.NodeName != "" || pod.Annotations[consumesAnnotation] != "" {
					return errorf("%s has gates %v, node %q and annotations %v; %s", pod.Name, pod.Spec.SchedulingGates,
						pod.Spec.NodeName, pod.Annotations, e.why(g))
				}
			}
		}
		return nil
	})
}

// asksNoMore waits until nothing is left of what was asked for the gang.
func (e *env) asksNoMore(g objects.Gang) {
	e.t.Helper()
	e.eventually(60*time.Second, "the requests of "+g.Name+" and their PodTemplates go", func() error {
		requests, err := e.requestsOf(g)
		if err != nil {
			return err
		}
		templates, err := e.podTemplatesOf(g)
		if err == nil && len(requests)+len(templates) > 0 {
			err = errorf("there are %d and %d", len(requests), len(templates))
		}
		return err
	})
}

// wasBoundFor fails unless the pods are on nodes of their own, and say for newer cluster-autoscalers by which request.
func (e *env) wasBoundFor(g objects.Gang, request provisioningRequest) {
	e.t.Helper()
	if n := e.nodesOf(g); n != g.Members {
		e.t.Errorf("it is on %d nodes", n)
	}
	for _, pod := range e.byNumber(g) {
		if pod.Annotations[consumesAnnotation] != request.Name || pod.Annotations[classAnnotation] != provisioningClass {
			e.t.Errorf("%s does not say that %s was for it: %v", pod.Name, request.Name, pod.Annotations)
		}
	}
}

func TestAGangAsksForItsNodesByProvisioningRequest(t *testing.T) {
	e := asking(t)
	train, rival := e.gang("train", 4, 8), e.gang("rival", 2, 8)
	e.add(train)
	asked := e.asksOnce(train)
	e.asksForItself(train, asked)
	e.scaleUpSays(train, "4 × 8 GPUs", e.ns+"/"+asked.Name, "not accepted yet")

	// The nodes are ordered, and are not there.
	e.answers(asked, "Accepted")
	e.scaleUpSays(train, "accepted at")
	e.answers(asked, "Accepted", "Provisioned")
	e.scaleUpSays(train, "provisioned at")
	e.addJob(rival)
	askedLater := e.asksOnce(rival)
	e.asksForItself(rival, askedLater)

	// Two of four come: the rival has room there, and does not get it.
	e.addGPUNodes(2)
	e.waitsFor(rival, "for which the nodes were asked for")
	e.staysGated(5*time.Second, train, rival)
	e.addNodes(objects.Nodes(e.ns+"-late", 2, 8)...)
	e.whole(60*time.Second, train)
	e.wasBoundFor(train, asked)
	e.asksNoMore(train)

	e.answers(askedLater, "Failed")
	e.scaleUpSays(rival, "failed: "+refusal, "it is tried again at")
	e.staysGated(5*time.Second, rival)
	e.must(e.deleteJob(rival))
	e.asksNoMore(rival)
}
