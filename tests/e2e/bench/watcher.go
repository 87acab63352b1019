package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// watcher notes when each pod was seen bound. It is an informer: a bare watch may end in silence. Safe for all.
type watcher struct {
	cancel context.CancelFunc

	mu      sync.Mutex
	bound   map[string]time.Time // by pod name
	changed chan struct{}        // closed and replaced when another is bound
}

func watch(client kubernetes.Interface) (*watcher, error) {
	ctx, cancel := context.WithCancel(context.Background())
	w := &watcher{cancel: cancel, bound: map[string]time.Time{}, changed: make(chan struct{})}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithNamespace(namespace))
	informer := factory.Core().V1().Pods().Informer()
	if _, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    w.see,
		UpdateFunc: func(_, pod any) { w.see(pod) },
	}); err != nil {
		cancel()
		return nil, err
	}
	factory.Start(ctx.Done())
	if !cache.WaitForCacheSync(ctx.Done(), informer.HasSynced) {
		cancel()
		return nil, fmt.Errorf("the pods were not listed")
	}
	return w, nil
}

func (w *watcher) stop() { w.cancel() }

func (w *watcher) see(object any) {
	pod, ok := object.(*corev1.Pod)
	if !ok || pod.Spec.NodeName == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, known := w.bound[pod.Name]; known {
		return
	}
	w.bound[pod.Name] = time.Now()
	close(w.changed)
	w.changed = make(chan struct{})
}

// when is the time at which each pod of the gang was seen bound, and whether all were.
func (w *watcher) when(g gang) (first, last time.Time, all bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, pod := range g.pods {
		at, known := w.bound[pod.Name]
		if !known {
			return first, last, false
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	return first, last, true
}

// wait returns when every pod of the gangs is bound.
func (w *watcher) wait(ctx context.Context, gangs []gang) error {
	missing := map[string]bool{}
	for _, g := range gangs {
		for _, pod := range g.pods {
			missing[pod.Name] = true
		}
	}
	all := len(missing)
	for {
		w.mu.Lock()
		changed := w.changed
		for name := range missing {
			if _, known := w.bound[name]; known {
				delete(missing, name)
			}
		}
		w.mu.Unlock()
		if len(missing) == 0 {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("only %d of %d pods were bound: %w", all-len(missing), all, ctx.Err())
		case <-changed:
			time.Sleep(5 * time.Millisecond) // several at once
		}
	}
}
