package main

import (
	"context"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"muster.dev/e2e/audit"
	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/process"
)

// contender is one way of starting gangs.
type contender struct {
	key, title string
	flavour    *objects.Flavour // of its PodGroups; nil: its pods are of no group
	gate       string           // on every pod from its creation
	release    bool             // the bench itself takes the gate away when all pods of a load are there
	muster     bool
	policy     string // what stands in Muster's policy beside the manifests'
	owned      bool   // its pods have a controller
}

const (
	aloneKey  = "alone"
	gatedKey  = "gated"
	nativeKey = "native"
	musterKey = "muster"
	pinKey    = "pin"
)

func contenders() []contender {
	return []contender{
		{key: aloneKey, title: "kube-scheduler, no gangs"},
		{key: gatedKey, title: "kube-scheduler, gates", gate: "bench.muster.dev/hold", release: true},
		{key: nativeKey, title: "native gangs", flavour: &objects.Native},
		{key: musterKey, title: "muster", flavour: &objects.Plugins, gate: musterGate, muster: true},
		{key: pinKey, title: "muster, handover: pin", flavour: &objects.Plugins, gate: musterGate, muster: true,
			policy: "gangs:\n  handover: pin\n", owned: true},
	}
}

const (
	namespace  = "bench"
	musterGate = "muster.dev/gang"
	// Nothing plays kubelets or node controllers here, so a node must not be born with the taint that only they take away.
	apiServerFlag = "--disable-admission-plugins=TaintNodesByCondition"
	startTimeout  = 3 * time.Minute
)

// arena is a control plane of its own for one contender, with its nodes and its scheduler.
type arena struct {
	*controlplane.ControlPlane
	contender contender
	client    kubernetes.Interface // in protobuf, so that the load program leaves the processors to the others
	scheduler *process.Process
	server    *muster.Server // nil without Muster
	watcher   *watcher
	audit     audit.Log
}

func newArena(ctx context.Context, c contender, nodes int) (a *arena, err error) {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	root, err := controlplane.Root()
	if err != nil {
		return nil, err
	}
	dir := filepath.Join(root, "build/e2e/bench", fmt.Sprintf("%s-%d", c.key, nodes))
	if err := os.RemoveAll(dir); err != nil {
		return nil, err
	}
	options := controlplane.Options{Version: controlplane.Newest, Dir: dir, APIServerFlags: []string{apiServerFlag}}
	if c.key == nativeKey {
		options.Gates = controlplane.NativeGangs(controlplane.Newest)
	}
	a = &arena{contender: c}
	if a.ControlPlane, err = controlplane.Start(ctx, options); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			a.stop()
		}
	}()
	a.audit = audit.Log{File: a.AuditLog}
	config := a.Config()
	config.ContentType = "application/vnd.kubernetes.protobuf"
	if a.client, err = kubernetes.NewForConfig(config); err != nil {
		return nil, err
	}
	if err := a.EnsureNamespace(ctx, namespace); err != nil {
		return nil, err
	}
	if err := parallel(ctx, objects.Nodes("node", nodes, gpusPerNode), func(node *corev1.Node) error {
		_, err := a.client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{})
		return err
	}); err != nil {
		return nil, err
	}
	if err := a.startScheduler(ctx); err != nil {
		return nil, err
	}
	a.watcher, err = watch(a.client)
	return a, err
}

// stop ends everything; logs stay, what etcd stored does not.
func (a *arena) stop() {
	if a.watcher != nil {
		a.watcher.stop()
	}
	if a.server != nil && a.server.Process != nil {
		a.server.Process.Stop(stopGrace)
	}
	a.Stop()
	_ = os.RemoveAll(filepath.Join(a.LogDir(), "etcd")) // hundreds of megabytes that nobody will read
}

const stopGrace = 12 * time.Second

func (a *arena) startScheduler(ctx context.Context) error {
	spec := controlplane.Scheduler{Name: "scheduler", Config: controlplane.DefaultScheduler}
	if a.contender.muster {
		files, err := muster.Install(ctx, a.ControlPlane)
		if err != nil {
			return err
		}
		if spec, err = a.startMuster(ctx, files); err != nil {
			return err
		}
	}
	var err error
	a.scheduler, err = a.StartScheduler(ctx, spec)
	return err
}

// startMuster starts it as its manifests do, and says how its kube-scheduler is started.
func (a *arena) startMuster(ctx context.Context, files muster.Files) (controlplane.Scheduler, error) {
	var spec controlplane.Scheduler
	policy, err := a.writePolicy()
	if err != nil {
		return spec, err
	}
	if a.server, err = muster.New(ctx, a.ControlPlane, muster.Options{Files: files, Policy: policy}); err != nil {
		return spec, err
	}
	if err := a.server.Start(); err != nil {
		return spec, err
	}
	if err := a.server.WaitReady(ctx); err != nil {
		return spec, err
	}
	spec.Name = "scheduler"
	if spec.Config, err = muster.SchedulerConfig(files, a.server.ExtenderPort); err != nil {
		return spec, err
	}
	spec.Token, err = a.Token(ctx, muster.Namespace, muster.SchedulerAccount)
	return spec, err
}

func (a *arena) writePolicy() (string, error) {
	root, err := controlplane.Root()
	if err != nil {
		return "", err
	}
	policy, err := os.ReadFile(filepath.Join(root, "manifests/base/policy.yaml"))
	if err != nil {
		return "", err
	}
	file := filepath.Join(a.LogDir(), "policy.yaml")
	return file, os.WriteFile(file, append(policy, a.contender.policy...), 0o644)
}

// gang describes one of this contender's.
func (a *arena) gang(name string, members int) gang {
	c := a.contender
	scheduler := objects.Default
	if c.muster {
		scheduler = objects.Muster
	}
	options := []objects.PodOption{objects.By(scheduler)}
	if c.gate != "" {
		options = append(options, objects.WithGate(c.gate))
	}
	if c.owned {
		options = append(options, ownedBy(name))
	}
	g := gang{name: name}
	if c.flavour == nil {
		for i := range members {
			options := append([]objects.PodOption{objects.Labelled(objects.GangLabel, name)}, options...)
			g.pods = append(g.pods, objects.Pod(namespace, fmt.Sprintf("%s-%d", name, i), 1, options...))
		}
		return g
	}
	described := objects.Gang{
		Namespace: namespace, Name: name, Flavour: *c.flavour, Members: members, GPUs: 1, Options: options,
	}
	g.group, g.resource, g.pods = described.PodGroup(), described.GroupResource(), described.Pods()
	return g
}

func ownedBy(job string) objects.PodOption {
	controls := true
	uid := fmt.Sprintf("%08x-0000-4000-8000-000000000000", crc32.ChecksumIEEE([]byte(job)))
	return func(pod *corev1.Pod) {
		pod.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: "batch/v1", Kind: "Job", Name: job, UID: types.UID(uid), Controller: &controls,
		}}
	}
}
