package suite

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

const topologyAccount = "muster-topology"

// applyTopology applies manifests/topology and returns the DaemonSet's pods, by node, once they run.
func (e *env) applyTopology(nodes int) map[string]corev1.Pod {
	e.t.Helper()
	root, err := controlplane.Root()
	e.must(err)
	folder := filepath.Join(root, "manifests/topology")
	_, err = e.Kubectl(e.ctx, "", "apply", "-k", folder)
	e.must(err)
	e.t.Cleanup(func() {
		if _, err := e.Kubectl(e.ctx, "", "delete", "--wait=true", "-k", folder); err != nil {
			e.t.Error(err)
		}
	})
	e.eventually(30*time.Second, "the admission policy is in force", func() error {
		policy, err := e.Client.AdmissionregistrationV1().ValidatingAdmissionPolicies().Get(e.ctx, topologyAccount, metav1.GetOptions{})
		if err != nil {
			return err
		}
		checked := policy.Status.TypeChecking
		if checked == nil || len(checked.ExpressionWarnings) > 0 {
			return errorf("its types: %v", checked)
		}
		_, err = e.as(e.podToken(nil)).CoreV1().Nodes().Patch(e.ctx, e.ns+"-0", types.MergePatchType,
			[]byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		if !apierrors.IsForbidden(err) {
			return errorf("a label is not refused: %v", err)
		}
		return nil
	})
	pods := map[string]corev1.Pod{}
	e.eventually(60*time.Second, "every GPU node has a pod of the DaemonSet", func() error {
		list, err := e.Client.CoreV1().Pods(muster.Namespace).List(e.ctx,
			metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=topology"})
		if err != nil {
			return err
		}
		for _, pod := range list.Items {
			if pod.Status.Phase == corev1.PodRunning && strings.HasPrefix(pod.Spec.NodeName, e.ns+"-") {
				pods[pod.Spec.NodeName] = pod
			}
		}
		if len(pods) != nodes {
			return errorf("%d of %d have", len(pods), nodes)
		}
		return nil
	})
	return pods
}

// podToken is the token that a kubelet mounts into the pod; without one, a token of its account alone.
func (e *env) podToken(pod *corev1.Pod) string {
	e.t.Helper()
	request := &authenticationv1.TokenRequest{}
	if pod != nil {
		request.Spec.BoundObjectRef = &authenticationv1.BoundObjectReference{
			APIVersion: "v1", Kind: "Pod", Name: pod.Name, UID: pod.UID,
		}
	}
	answer, err := e.Client.CoreV1().ServiceAccounts(muster.Namespace).CreateToken(
		e.ctx, topologyAccount, request, metav1.CreateOptions{})
	e.must(err)
	return answer.Status.Token
}

// discover runs what the pod's container runs, with its token, once, where nvidia-smi topo -m prints the text.
func (e *env) discover(pod corev1.Pod, node, text string) error {
	e.t.Helper()
	folder := e.t.TempDir()
	e.must(os.WriteFile(filepath.Join(folder, "matrix"), []byte(text), 0o644))
	tool := fmt.Sprintf("#!/bin/sh\n[ \"$*\" = \"topo -m\" ] && exec cat %q\n", filepath.Join(folder, "matrix"))
	e.must(os.WriteFile(filepath.Join(folder, "nvidia-smi"), []byte(tool), 0o755))
	kubeconfig, err := e.WriteKubeconfig(e.ns+"-topology.kubeconfig", e.podToken(&pod))
	e.must(err)
	binary, err := muster.Binary()
	e.must(err)
	var args []string
	for _, arg := range pod.Spec.Containers[0].Args {
		switch {
		case arg == "--in-cluster":
			args = append(args, "--kubeconfig="+kubeconfig)
		case strings.HasPrefix(arg, "--every="): // it would stay
		default:
			args = append(args, strings.ReplaceAll(arg, "$(NODE_NAME)", node))
		}
	}
	cmd := exec.CommandContext(e.ctx, binary, args...)
	cmd.Env = []string{"PATH=" + folder + ":" + os.Getenv("PATH")}
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("muster %s: %w: %s", strings.Join(args, " "), err, output)
	}
	return nil
}

func (e *env) as(token string) kubernetes.Interface {
	e.t.Helper()
	config := rest.CopyConfig(e.Config())
	config.BearerToken = token
	client, err := kubernetes.NewForConfig(config)
	e.must(err)
	return client
}

func TestThePodsOfMusterTopologyAnnotateTheirNodesAndMusterPlansByThat(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(2)
	own, other := e.ns+"-0", e.ns+"-1"
	pods := e.applyTopology(2)
	pod := pods[own]
	if got := pod.Spec.Containers[0].Env[0]; got.Name != "NODE_NAME" || got.ValueFrom.FieldRef.FieldPath != "spec.nodeName" {
		t.Fatalf("NODE_NAME is %v", got)
	}

	// By the profile of the model all links are alike.
	pairs := func(name, node string) objects.Gang {
		g := e.gang(name, 4, 2, objects.OnNodesWith(corev1.LabelHostname, node))
		e.add(g)
		e.whole(60*time.Second, g)
		return g
	}
	if sets := e.sets(pairs("by-profile", other)); sets[0][1]-sets[0][0] == 4 {
		t.Errorf("without the annotation the pairs are %v already", sets)
	}

	e.must(e.discover(pod, own, bridged()))
	node, err := e.Client.CoreV1().Nodes().Get(e.ctx, own, metav1.GetOptions{})
	e.must(err)
	if text := node.Annotations[topologyAnnotation]; !strings.Contains(text, "NV4") {
		t.Fatalf("the node's annotation is %q", text)
	}
	e.eventually(10*time.Second, "Muster has read it", func() error {
		links, err := e.muster.NodeLinks(own)
		if err == nil && links.Source != "annotation" {
			err = errorf("its links are of source %q", links.Source)
		}
		return err
	})
	e.overBridges(pairs("by-matrix", own))

	// The same again changes nothing, and a text that is no matrix writes nothing.
	e.must(e.discover(pod, own, bridged()))
	if err := e.discover(pod, own, "No devices were found\n"); err == nil {
		t.Error("a text that is no matrix was taken")
	}
	again, err := e.Client.CoreV1().Nodes().Get(e.ctx, own, metav1.GetOptions{})
	e.must(err)
	if got, want := again.Annotations[topologyAnnotation], node.Annotations[topologyAnnotation]; got != want {
		t.Errorf("the annotation was\n%s\nand is\n%s", want, got)
	}

	err = e.discover(pod, other, bridged())
	if err == nil || !strings.Contains(err.Error(), "a pod of muster-topology may annotate its own node only") {
		t.Errorf("the pod of %s annotates %s: %v", own, other, err)
	}
	e.must(e.discover(pods[other], other, bridged()))
}

func TestThePodsOfMusterTopologyMayDoNothingElse(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	nodes := objects.Nodes(e.ns, 2, 8)
	for _, node := range nodes {
		node.Annotations = map[string]string{"example.com/kept": "as it is", topologyAnnotation: "as it was"}
	}
	e.addNodes(nodes...)
	own, other := e.ns+"-0", e.ns+"-1"
	pod := e.applyTopology(2)[own]
	ofPod, ofAccount := e.as(e.podToken(&pod)), e.as(e.podToken(nil))
	const (
		ownOnly  = "a pod of muster-topology may annotate its own node only"
		thisOnly = "muster-topology may only write the annotation muster.dev/gpu-topology"
		noRight  = "cannot patch resource"
	)
	annotates := func(key, value string) string {
		return fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value)
	}
	for _, c := range []struct {
		what         string
		client       kubernetes.Interface
		node         string
		patch        string
		subresources []string
		want         string // empty: it is allowed
	}{
		{"its own node's topology", ofPod, own, annotates(topologyAnnotation, `"a"`), nil, ""},
		{"the removal of that", ofPod, own, annotates(topologyAnnotation, `null`), nil, ""},
		{"another node's topology", ofPod, other, annotates(topologyAnnotation, `"a"`), nil, ownOnly},
		{"a node's topology without a pod", ofAccount, own, annotates(topologyAnnotation, `"a"`), nil, ownOnly},
		{"another annotation of Muster's", ofPod, own, annotates("muster.dev/topology-manager-policy", `"none"`), nil, thisOnly},
		{"a changed annotation", ofPod, own, annotates("example.com/kept", `"otherwise"`), nil, thisOnly},
		{"a removed annotation", ofPod, own, annotates("example.com/kept", `null`), nil, thisOnly},
		{"a label", ofPod, own, `{"metadata":{"labels":{"a":"b"}}}`, nil, thisOnly},
		{"a removed label", ofPod, own, `{"metadata":{"labels":{"nvidia.com/gpu.present":null}}}`, nil, thisOnly},
		{"a finalizer", ofPod, own, `{"metadata":{"finalizers":["a.b/c"]}}`, nil, thisOnly},
		// The garbage collector deletes a node whose owner is gone.
		{"an owner", ofPod, own,
			`{"metadata":{"ownerReferences":[{"apiVersion":"v1","kind":"Namespace","name":"gone","uid":"0-0-0-0"}]}}`, nil, thisOnly},
		{"a cordon", ofPod, own, `{"spec":{"unschedulable":true}}`, nil, thisOnly},
		{"a taint", ofPod, own, `{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}`, nil, thisOnly},
		{"the status", ofPod, own, `{"status":{"allocatable":{"nvidia.com/gpu":"0"}}}`, []string{"status"}, noRight},
	} {
		_, err := c.client.CoreV1().Nodes().Patch(e.ctx, c.node, types.MergePatchType, []byte(c.patch),
			metav1.PatchOptions{}, c.subresources...)
		if c.want == "" {
			if err != nil {
				t.Errorf("%s: %v", c.what, err)
			}
			continue
		}
		if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: expected %q, got %v", c.what, c.want, err)
		}
	}
	for what, call := range map[string]func(context.Context) error{
		"a node's end": func(ctx context.Context) error {
			return ofPod.CoreV1().Nodes().Delete(ctx, own, metav1.DeleteOptions{})
		},
		"a list of nodes": func(ctx context.Context) error {
			_, err := ofPod.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
			return err
		},
		"a node": func(ctx context.Context) error {
			_, err := ofPod.CoreV1().Nodes().Create(ctx, objects.Node(e.ns+"-new", 8), metav1.CreateOptions{})
			return err
		},
	} {
		if err := call(e.ctx); !apierrors.IsForbidden(err) {
			t.Errorf("%s: expected it to be forbidden, got %v", what, err)
		}
	}
}
