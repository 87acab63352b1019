// Package auditor watches a cluster and finds what must never be: a GPU given out twice, a gang that stays partial.
// Played kubelets admit everything, so nobody else would notice.
package auditor

import (
	"context"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

const (
	gpu            = "nvidia.com/gpu"
	gpusAnnotation = "muster.dev/gpus"
)

// GangKey says which gang a pod is a member of; empty: none.
type GangKey func(*corev1.Pod) string

// Options say what is judged.
type Options struct {
	PartialDeadline time.Duration // how long a gang may be partly bound
	GangOf          GangKey
}

// Auditor looks after every event. Safe for all.
type Auditor struct {
	options Options
	synced  []cache.InformerSynced
	stop    chan struct{}

	mu        sync.Mutex
	capacity  map[string]int64                     // GPUs by node
	pods      map[string]map[types.UID]*corev1.Pod // live bound pods by node
	gangs     map[string]int                       // minMember by gang
	allowed   map[string]time.Duration             // longer deadlines by gang
	bound     map[string]map[types.UID]bool        // bound members by gang, ended ones too
	partial   map[string]time.Time                 // since when a gang is partly bound
	longest   time.Duration                        // that any was
	breaches  []string
	everBound int
}

// Start begins to watch and returns once everything is known.
func Start(ctx context.Context, client kubernetes.Interface, o Options) (*Auditor, error) {
	a := &Auditor{
		options: o, stop: make(chan struct{}), capacity: map[string]int64{},
		pods: map[string]map[types.UID]*corev1.Pod{}, gangs: map[string]int{}, allowed: map[string]time.Duration{},
		bound: map[string]map[types.UID]bool{}, partial: map[string]time.Time{},
	}
	rest := client.CoreV1().RESTClient()
	watch := func(resource string, object runtime.Object, handler cache.ResourceEventHandler) error {
		source := cache.NewListWatchFromClient(rest, resource, "", fields.Everything())
		informer := cache.NewSharedInformer(source, object, 0)
		registration, err := informer.AddEventHandler(handler)
		if err != nil {
			return err
		}
		a.synced = append(a.synced, registration.HasSynced)
		go informer.Run(a.stop)
		return nil
	}
	// Nodes first, so that the capacity is known before pods are judged by it.
	if err := watch("nodes", &corev1.Node{}, handler(a.node, a.nodeGone)); err != nil {
		return nil, err
	}
	if !cache.WaitForCacheSync(ctx.Done(), a.synced...) {
		return nil, fmt.Errorf("the auditor did not get all nodes: %w", ctx.Err())
	}
	if err := watch("pods", &corev1.Pod{}, handler(a.pod, a.podGone)); err != nil {
		return nil, err
	}
	if !cache.WaitForCacheSync(ctx.Done(), a.synced...) {
		return nil, fmt.Errorf("the auditor did not get all pods: %w", ctx.Err())
	}
	go a.watchClock()
	return a, nil
}

// Stop ends it.
func (a *Auditor) Stop() { close(a.stop) }

// Expect says that a gang needs so many members bound together.
func (a *Auditor) Expect(gang string, minMember int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.gangs[gang] = minMember
}

// Allow lets a gang be partly bound for longer: its test keeps from muster what it needs to finish it.
func (a *Auditor) Allow(gang string, deadline time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.allowed[gang] = deadline
}

// Forget drops what is known of a gang: its test plays the part of its end.
func (a *Auditor) Forget(gang string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.gangs, gang)
	delete(a.allowed, gang)
	delete(a.bound, gang)
	delete(a.partial, gang)
}

// Breaches are what was found since the last call.
func (a *Auditor) Breaches() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.judgePartial()
	out := a.breaches
	a.breaches = nil
	return out
}

// LongestPartial is the longest time for which any gang was partly bound.
func (a *Auditor) LongestPartial() time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.longest
}

func (a *Auditor) watchClock() {
	for {
		select {
		case <-a.stop:
			return
		case <-time.After(time.Second):
			a.mu.Lock()
			a.judgePartial()
			a.mu.Unlock()
		}
	}
}

func (a *Auditor) judgePartial() {
	for gang, since := range a.partial {
		if age := time.Since(since); age > max(a.options.PartialDeadline, a.allowed[gang]) {
			a.breach("gang %s is partly bound (%d of %d) for %s", gang, len(a.bound[gang]), a.gangs[gang], age.Round(time.Second))
			delete(a.partial, gang)
		}
	}
}

func (a *Auditor) breach(format string, args ...any) {
	a.breaches = append(a.breaches, fmt.Sprintf(format, args...))
}

func (a *Auditor) node(node *corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	quantity := node.Status.Capacity[gpu]
	a.capacity[node.Name] = quantity.Value()
}

func (a *Auditor) nodeGone(node *corev1.Node) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.capacity, node.Name)
}

func (a *Auditor) pod(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if pod.Spec.NodeName == "" {
		return
	}
	a.countMember(pod)
	on := a.pods[pod.Spec.NodeName]
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		delete(on, pod.UID)
		return
	}
	if on == nil {
		on = map[types.UID]*corev1.Pod{}
		a.pods[pod.Spec.NodeName] = on
	}
	_, known := on[pod.UID]
	on[pod.UID] = pod
	if !known {
		a.everBound++
		a.judgeNode(pod.Spec.NodeName)
	}
}

func (a *Auditor) podGone(pod *corev1.Pod) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.pods[pod.Spec.NodeName], pod.UID)
	if gang := a.options.GangOf(pod); gang != "" {
		delete(a.bound[gang], pod.UID)
		a.judgeGang(gang)
	}
}

func (a *Auditor) countMember(pod *corev1.Pod) {
	gang := a.options.GangOf(pod)
	if gang == "" {
		return
	}
	if a.bound[gang] == nil {
		a.bound[gang] = map[types.UID]bool{}
	}
	a.bound[gang][pod.UID] = true
	a.judgeGang(gang)
}

func (a *Auditor) judgeGang(gang string) {
	minimum, known := a.gangs[gang]
	bound := len(a.bound[gang])
	since, was := a.partial[gang]
	switch is := known && bound > 0 && bound < minimum; {
	case is && !was:
		a.partial[gang] = time.Now()
	case !is && was:
		if bound >= minimum { // else its members went
			a.longest = max(a.longest, time.Since(since))
		}
		delete(a.partial, gang)
	}
}

func (a *Auditor) judgeNode(node string) {
	var sum int64
	owners := map[int]string{}
	capacity, known := a.capacity[node]
	for _, pod := range a.pods[node] {
		want := gpusOf(pod)
		sum += want
		indices, err := indicesOf(pod)
		name := pod.Namespace + "/" + pod.Name
		if err != nil || (len(indices) > 0 && int64(len(indices)) != want) {
			a.breach("%s asks for %d GPUs and has %s %q", name, want, gpusAnnotation, pod.Annotations[gpusAnnotation])
		}
		for _, index := range indices {
			if other, taken := owners[index]; taken {
				a.breach("GPU %d of node %s belongs to %s and to %s", index, node, other, name)
			}
			if known && int64(index) >= capacity {
				a.breach("%s has GPU %d of node %s, which has %d", name, index, node, capacity)
			}
			owners[index] = name
		}
	}
	if known && sum > capacity {
		a.breach("node %s has %d GPUs and %d are given out: %s", node, capacity, sum, a.namesOn(node))
	}
}

func (a *Auditor) namesOn(node string) string {
	var names []string
	for _, pod := range a.pods[node] {
		names = append(names, pod.Namespace+"/"+pod.Name)
	}
	sort.Strings(names)
	return strings.Join(names, " ")
}

func gpusOf(pod *corev1.Pod) int64 {
	var sum int64
	for _, container := range pod.Spec.Containers {
		quantity := container.Resources.Limits[gpu]
		sum += quantity.Value()
	}
	return sum
}

func indicesOf(pod *corev1.Pod) ([]int, error) {
	text := pod.Annotations[gpusAnnotation]
	if text == "" {
		return nil, nil
	}
	var out []int
	for _, part := range strings.Split(text, ",") {
		index, err := strconv.Atoi(part)
		if err != nil {
			return nil, err
		}
		out = append(out, index)
	}
	return out, nil
}
