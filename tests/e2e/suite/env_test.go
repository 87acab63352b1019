package suite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/objects"
)

// env is what one test has of a world: a namespace and nodes, all gone when it ends.
type env struct {
	*world
	t   *testing.T
	ctx context.Context
	ns  string

	mu    sync.Mutex
	nodes []string
	gangs []string
}

// testLabel is on nodes: which test they are of.
const testLabel = "e2e.muster.dev/test"

// Ten thousand pods take their time to go.
const cleanTimeout = 4 * time.Minute

var envs atomic.Int32

// in gives a test its part of the world. When it ends the auditor must have found nothing.
func in(t *testing.T, w *world) *env {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	e := &env{world: w, t: t, ctx: ctx, ns: fmt.Sprintf("test-%d", envs.Add(1))}
	if err := w.EnsureNamespace(ctx, e.ns); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		defer cancel()
		e.clean()
		if err := w.breaches(); err != nil {
			t.Errorf("the auditor found:\n%v", err)
		}
	})
	return e
}

func (e *env) clean() {
	if e.bulk { // nobody else uses it
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cleanTimeout)
	defer cancel()
	if e.proxy != nil {
		e.proxy.Heal()
	}
	if e.muster != nil && e.muster.Process != nil && !e.muster.Process.Running() {
		if err := e.muster.Restart(ctx); err != nil {
			e.t.Errorf("muster does not start again: %v", err)
		}
	}
	none := metav1.DeleteOptions{GracePeriodSeconds: new(int64)}
	// Those that wait go first, or they would start when the others go. Many take several requests.
	for _, which := range []string{"spec.nodeName=", ""} {
		e.deleteAll(ctx, metav1.ListOptions{FieldSelector: which})
	}
	for _, gang := range e.gangs {
		e.auditor.Forget(gang)
	}
	ctx, cancelRest := context.WithTimeout(context.Background(), time.Minute)
	defer cancelRest()
	if err := e.Client.CoreV1().Nodes().DeleteCollection(ctx, none, metav1.ListOptions{LabelSelector: testLabel + "=" + e.ns}); err != nil {
		e.t.Errorf("nodes: %v", err)
	}
	if err := e.Client.CoreV1().Namespaces().Delete(ctx, e.ns, metav1.DeleteOptions{}); err != nil {
		e.t.Errorf("namespace %s: %v", e.ns, err)
	}
}

func (e *env) deleteAll(ctx context.Context, which metav1.ListOptions) {
	pods := e.Client.CoreV1().Pods(e.ns)
	for {
		err := pods.DeleteCollection(ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)}, which)
		limited := which
		limited.Limit = 1
		left, listErr := pods.List(ctx, limited)
		if listErr == nil && len(left.Items) == 0 {
			return
		}
		if ctx.Err() != nil {
			e.t.Errorf("pods of %s do not go: %v", e.ns, errors.Join(err, listErr))
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
}

// each runs do for all items, sixteen at a time.
func each[T any](items []T, do func(T)) {
	var all sync.WaitGroup
	slots := make(chan struct{}, 16)
	for _, item := range items {
		all.Add(1)
		slots <- struct{}{}
		go func() {
			defer all.Done()
			do(item)
			<-slots
		}()
	}
	all.Wait()
}

func (e *env) must(err error) {
	e.t.Helper()
	if err != nil {
		e.t.Fatal(err)
	}
}

// addNodes makes nodes that go with the test.
func (e *env) addNodes(nodes ...*corev1.Node) {
	e.t.Helper()
	var failed error
	each(nodes, func(node *corev1.Node) {
		node.Labels[testLabel] = e.ns
		_, err := e.Client.CoreV1().Nodes().Create(e.ctx, node, metav1.CreateOptions{})
		e.mu.Lock()
		defer e.mu.Unlock()
		failed = errors.Join(failed, err)
		e.nodes = append(e.nodes, node.Name)
	})
	e.must(failed)
	// Born with the taint not-ready; the node controller takes it away.
	e.eventually(2*time.Minute+time.Duration(len(nodes))*50*time.Millisecond, "nodes are without taints of their birth", func() error {
		got, err := e.Client.CoreV1().Nodes().List(e.ctx, metav1.ListOptions{LabelSelector: testLabel + "=" + e.ns})
		if err != nil {
			return err
		}
		for _, node := range got.Items {
			for _, taint := range node.Spec.Taints {
				if strings.HasPrefix(taint.Key, "node.kubernetes.io/not-ready") {
					return fmt.Errorf("node %s has taint %s", node.Name, taint.Key)
				}
			}
		}
		return nil
	})
}

// addGPUNodes makes nodes of eight GPUs named after the namespace.
func (e *env) addGPUNodes(count int) {
	e.t.Helper()
	e.addNodes(objects.Nodes(e.ns, count, 8)...)
}

func (e *env) addPods(pods ...*corev1.Pod) {
	e.t.Helper()
	var mu sync.Mutex
	var failed error
	each(pods, func(pod *corev1.Pod) {
		if e.Options.Version == controlplane.Older && pod.Spec.SchedulerName == objects.Muster && pod.Spec.NodeName == "" {
			objects.Gated(pod) // by the pod template, as docs/how-to/older-kubernetes.md says for releases without the admission policy
		}
		_, err := e.Client.CoreV1().Pods(pod.Namespace).Create(e.ctx, pod, metav1.CreateOptions{})
		mu.Lock()
		defer mu.Unlock()
		failed = errors.Join(failed, err)
	})
	e.must(failed)
}

// gang describes a gang of this test; add makes it.
func (e *env) gang(name string, members, gpus int, options ...objects.PodOption) objects.Gang {
	return objects.Gang{Namespace: e.ns, Name: name, Members: members, GPUs: gpus, Options: options}
}

// addGroup makes the PodGroup and tells the auditor.
func (e *env) addGroup(g objects.Gang) {
	e.t.Helper()
	e.mu.Lock()
	e.gangs = append(e.gangs, g.Key())
	e.mu.Unlock()
	e.auditor.Expect(g.Key(), g.Minimum())
	if group := g.PodGroup(); group != nil {
		_, err := e.Dynamic.Resource(g.GroupResource()).Namespace(g.Namespace).Create(e.ctx, group, metav1.CreateOptions{})
		e.must(err)
	}
}

func (e *env) add(gangs ...objects.Gang) {
	e.t.Helper()
	for _, g := range gangs {
		e.addGroup(g)
		e.addPods(g.Pods()...)
	}
}

// pods lists a gang's pods by name.
func (e *env) pods(g objects.Gang) ([]corev1.Pod, error) {
	return e.list(objects.GangLabel + "=" + g.Name)
}

func (e *env) list(selector string) ([]corev1.Pod, error) {
	list, err := e.Client.CoreV1().Pods(e.ns).List(e.ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	sort.Slice(list.Items, func(i, j int) bool { return list.Items[i].Name < list.Items[j].Name })
	return list.Items, nil
}

// bound counts a gang's members that have a node.
func (e *env) bound(g objects.Gang) int {
	e.t.Helper()
	pods, err := e.pods(g)
	e.must(err)
	return countBound(pods)
}

func countBound(pods []corev1.Pod) int {
	n := 0
	for _, pod := range pods {
		if pod.Spec.NodeName != "" {
			n++
		}
	}
	return n
}

func (e *env) eventually(within time.Duration, what string, check func() error) {
	e.t.Helper()
	var last error
	for deadline := time.Now().Add(within); ; {
		if last = check(); last == nil {
			return
		}
		if time.Now().After(deadline) || e.ctx.Err() != nil {
			e.t.Fatalf("not within %s: %s: %v", within, what, last)
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// always fails the test where the check fails once within that time.
func (e *env) always(lasting time.Duration, what string, check func() error) {
	e.t.Helper()
	for deadline := time.Now().Add(lasting); time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		if err := check(); err != nil {
			e.t.Fatalf("not always: %s: %v", what, err)
		}
	}
}

// waitBound waits until so many of the gang's members have nodes.
func (e *env) waitBound(within time.Duration, g objects.Gang, members int) {
	e.t.Helper()
	e.eventually(within, fmt.Sprintf("%d members of %s are bound", members, g.Name), func() error {
		pods, err := e.pods(g)
		if err != nil {
			return err
		}
		if n := countBound(pods); n != members {
			return fmt.Errorf("%d are; %s", n, e.why(g))
		}
		return nil
	})
}

// whole waits until every member has a node.
func (e *env) whole(within time.Duration, gangs ...objects.Gang) {
	e.t.Helper()
	for _, g := range gangs {
		e.waitBound(within, g, g.Members)
	}
}

// setPolicy sets a field of the policy's section "gangs", until the test ends.
func (e *env) setPolicy(field string) {
	e.t.Helper()
	e.must(e.writePolicy("gangs:\n  " + field + "\n"))
	e.t.Cleanup(func() {
		if err := e.writePolicy(""); err != nil {
			e.t.Errorf("the policy is not put back: %v", err)
		}
	})
	e.eventually(15*time.Second, "the policy is loaded", func() error {
		policy, err := e.muster.Policy()
		if err == nil && !strings.Contains(policy, field) {
			err = errorf("it is\n%s", policy)
		}
		return err
	})
}

// why is what muster says about a gang, for messages.
func (e *env) why(g objects.Gang) string {
	if e.muster == nil {
		return "no muster"
	}
	gang, err := e.muster.Gang(g.Namespace, g.Name)
	if err != nil {
		return fmt.Sprintf("muster does not say why: %v", err)
	}
	return fmt.Sprintf("muster says %s, %s: %s", gang.State, gang.Reason.Code, gang.Reason.Message)
}

// end lets every pod of the gang succeed.
func (e *env) end(g objects.Gang) {
	e.t.Helper()
	pods, err := e.pods(g)
	// One that kwok is about to set to Running would run again.
	starts := func(pod corev1.Pod) bool { return pod.Spec.NodeName != "" && pod.Status.Phase == corev1.PodPending }
	for range 30 {
		if err != nil || !slices.ContainsFunc(pods, starts) {
			break
		}
		time.Sleep(100 * time.Millisecond)
		pods, err = e.pods(g)
	}
	e.must(err)
	patch := []byte(`{"status":{"phase":"Succeeded"}}`)
	each(pods, func(pod corev1.Pod) {
		_, err := e.Client.CoreV1().Pods(e.ns).Patch(e.ctx, pod.Name, types.MergePatchType, patch, metav1.PatchOptions{}, "status")
		if err != nil {
			e.t.Errorf("%s: %v", pod.Name, err)
		}
	})
}

// delete removes the gang's pods.
func (e *env) delete(g objects.Gang) {
	e.t.Helper()
	e.must(e.Client.CoreV1().Pods(e.ns).DeleteCollection(e.ctx, metav1.DeleteOptions{GracePeriodSeconds: new(int64)},
		metav1.ListOptions{LabelSelector: objects.GangLabel + "=" + g.Name}))
}

// openGate takes Muster's gate away, as anyone who may patch pods can.
func (e *env) openGate(pod string) error {
	_, err := e.Client.CoreV1().Pods(e.ns).Patch(e.ctx, pod, types.MergePatchType,
		[]byte(`{"spec":{"schedulingGates":null}}`), metav1.PatchOptions{})
	return err
}
