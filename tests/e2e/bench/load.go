package main

import (
	"cmp"
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

const (
	gpusPerNode = 8
	clients     = 16 // that create, and take gates away, at the same time
	loadTimeout = 3 * time.Minute
	// After the last binding: events, statuses and the audit log follow. Their cost belongs to the load.
	settle      = 2 * time.Second
	smokeSettle = 500 * time.Millisecond
)

// gang is what a load creates.
type gang struct {
	name     string
	group    *unstructured.Unstructured // nil without
	resource schema.GroupVersionResource
	pods     []*corev1.Pod
}

// load is one kind of work: so many gangs of so many one-GPU members.
type load struct {
	gangs, members int
	// inTurn: the next gang is created when the one before is bound; else all at once.
	inTurn bool
	settle time.Duration // after each gang, or after all; 0: settle
}

func (l load) pods() int { return l.gangs * l.members }

func (l load) String() string {
	switch {
	case l.inTurn && l.gangs == 1:
		return fmt.Sprintf("a gang of %d", l.members)
	case l.inTurn:
		return fmt.Sprintf("%d gangs of %d one after another", l.gangs, l.members)
	default:
		return fmt.Sprintf("%d gangs × %d at once", l.gangs, l.members)
	}
}

// outcome is what one contender made of one load, in one round or in several.
type outcome struct {
	err     error
	rounds  int
	spent   usage
	took    []time.Duration // of each round: from the first creation to the last binding, in turn of all gangs together
	started []time.Duration // of each gang: from its last pod's creation to all bound
	spread  []time.Duration // of each gang: from first to last bound
	stages  []stage         // of the last round
}

// and adds another round.
func (o outcome) and(next outcome) outcome {
	if next.err != nil {
		o.err = next.err
		return o
	}
	return outcome{
		err: o.err, rounds: o.rounds + 1, spent: o.spent.plus(next.spent), took: append(o.took, next.took...),
		started: append(o.started, next.started...), spread: append(o.spread, next.spread...), stages: next.stages,
	}
}

func (o outcome) total() time.Duration {
	sum := time.Duration(0)
	for _, t := range o.took {
		sum += t
	}
	return sum
}

// run puts the load onto the contender.
func (a *arena) run(ctx context.Context, prefix string, l load) outcome {
	var gangs []gang
	for i := range l.gangs {
		gangs = append(gangs, a.gang(fmt.Sprintf("%s-%d", prefix, i), l.members))
	}
	o := outcome{took: []time.Duration{0}}
	before, err := a.measure()
	if err != nil {
		return outcome{err: err}
	}
	rounds := [][]gang{gangs}
	if l.inTurn {
		rounds = nil
		for _, g := range gangs {
			rounds = append(rounds, []gang{g})
		}
	}
	for _, round := range rounds {
		if o.err = a.start(ctx, round, &o); o.err != nil {
			return o
		}
		time.Sleep(cmp.Or(l.settle, settle))
	}
	after, err := a.measure()
	if err != nil {
		return outcome{err: err}
	}
	o.spent = after.minus(before)
	if o.spent.writes, o.err = a.audit.Since(before.mark); o.err == nil {
		o.stages, o.err = stagesSince(a.AuditLog, before.mark, gangs)
	}
	return o
}

// start creates the gangs, all PodGroups first, and waits until they are bound.
func (a *arena) start(ctx context.Context, gangs []gang, o *outcome) error {
	ctx, cancel := context.WithTimeout(ctx, loadTimeout)
	defer cancel()
	if a.contender.flavour != nil {
		if err := parallel(ctx, gangs, a.createGroup(ctx)); err != nil {
			return err
		}
	}
	begin := time.Now()
	complete, err := a.createPods(ctx, gangs)
	if err != nil {
		return err
	}
	if err := a.watcher.wait(ctx, gangs); err != nil {
		return err
	}
	var end time.Time
	for i, g := range gangs {
		first, last, _ := a.watcher.when(g)
		o.started = append(o.started, last.Sub(complete[i]))
		o.spread = append(o.spread, last.Sub(first))
		if last.After(end) {
			end = last
		}
	}
	o.took[0] += end.Sub(begin)
	return nil
}

func (a *arena) createGroup(ctx context.Context) func(gang) error {
	return func(g gang) error {
		_, err := a.Dynamic.Resource(g.resource).Namespace(namespace).Create(ctx, g.group, metav1.CreateOptions{})
		return err
	}
}

// createPods creates them gang after gang, and returns when each gang was complete.
func (a *arena) createPods(ctx context.Context, gangs []gang) ([]time.Time, error) {
	type member struct {
		gang int
		pod  *corev1.Pod
	}
	var members []member
	left := make([]atomic.Int64, len(gangs))
	complete := make([]time.Time, len(gangs))
	for i, g := range gangs {
		left[i].Store(int64(len(g.pods)))
		for _, pod := range g.pods {
			members = append(members, member{i, pod})
		}
	}
	pods := a.client.CoreV1().Pods(namespace)
	err := parallel(ctx, members, func(m member) error {
		_, err := pods.Create(ctx, m.pod, metav1.CreateOptions{})
		if left[m.gang].Add(-1) == 0 {
			complete[m.gang] = time.Now()
		}
		return err
	})
	if err != nil || !a.contender.release {
		return complete, err
	}
	open := []byte(`{"spec":{"schedulingGates":null}}`)
	return complete, parallel(ctx, members, func(m member) error {
		_, err := pods.Patch(ctx, m.pod.Name, types.MergePatchType, open, metav1.PatchOptions{})
		return err
	})
}

// parallel does something with every item, in order but several at a time, and returns the first error.
func parallel[T any](ctx context.Context, items []T, do func(T) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var next atomic.Int64
	var all sync.WaitGroup
	for range min(clients, len(items)) {
		all.Add(1)
		go func() {
			defer all.Done()
			for ctx.Err() == nil {
				i := int(next.Add(1)) - 1
				if i >= len(items) {
					return
				}
				if err := do(items[i]); err != nil {
					cancel(err)
				}
			}
		}()
	}
	all.Wait()
	return context.Cause(ctx)
}
