package suite

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"muster.dev/e2e/audit"
	"muster.dev/e2e/auditor"
	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/process"
	"muster.dev/e2e/proxy"
)

const (
	startTimeout    = 2 * time.Minute
	readyDeadline   = 30 * time.Second
	partialDeadline = 65 * time.Second // the promise is 60 s; its eviction takes a moment
)

// worldOptions say what a control plane is like. Equal ones share one.
type worldOptions struct {
	version string // MUSTER_E2E_VERSION, or the newest
	native  bool   // PodGroups of Kubernetes' own
	jobs    bool   // with the native ones, which the Job controller makes
	bulk    bool   // so many pods that nobody plays their kubelets
	kueue   bool   // with Kueue's controller
	webhook bool   // with Muster's webhook in place of the admission policies
	// With controllers of other projects that make pods; apart: with one whose CRDs others have as well.
	operators, apart bool
	autoscaler       string // with this one, which must be alone
	upgrades         bool   // without Muster: the test runs replicas of several releases
	walk             bool   // without Muster: a walk of the documents installs it
}

// world is a control plane with muster, which speaks to it through a proxy that tests may break.
type world struct {
	*controlplane.ControlPlane
	audit     audit.Log
	auditor   *auditor.Auditor
	proxy     *proxy.Proxy
	service   *muster.Service // where kube-scheduler calls
	muster    *muster.Server
	scheduler *process.Process // of muster's pods
	files     muster.Files
	images    *images // Muster's pods, where walks are done

	schedulerSpec controlplane.Scheduler
	policy        string // file: the manifests', to which tests may add
	webhook       int    // port of Muster's webhook; 0: it has none
	bulk          bool
	mu            sync.Mutex
	mustered      bool
	musterErr     error
	upgradesOnce  sync.Once
	upgradesErr   error
	kueueOnce     sync.Once
	kueueErr      error
	operating     map[string]error // the controllers that were started, and how that went
}

var worlds = struct {
	sync.Mutex
	all  map[worldOptions]*world
	errs map[worldOptions]error
}{all: map[worldOptions]*world{}, errs: map[worldOptions]error{}}

// tested is the Kubernetes version that the tests run on.
func tested() string {
	if version := os.Getenv("MUSTER_E2E_VERSION"); version != "" {
		return version
	}
	return controlplane.Newest
}

// bare is a control plane with kube-scheduler and without Muster's pods being looked after by anyone.
func bare(t *testing.T, o worldOptions) *world {
	t.Helper()
	o.version = tested()
	if o.native && o.version == controlplane.Older {
		t.Skip("this Kubernetes has no PodGroups of its own")
	}
	claim(t, o.part(t))
	worlds.Lock()
	defer worlds.Unlock()
	if worlds.all[o] == nil && worlds.errs[o] == nil {
		w, err := startWorld(o)
		worlds.all[o], worlds.errs[o] = w, err
	}
	if err := worlds.errs[o]; err != nil {
		t.Fatalf("no control plane: %v", err)
	}
	return worlds.all[o]
}

// mustered is a control plane with Muster, ready, as its manifests install it.
func mustered(t *testing.T, o worldOptions) *world {
	t.Helper()
	w := bare(t, o)
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.mustered {
		w.mustered = true
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		w.musterErr = w.startMuster(ctx)
	}
	if w.musterErr != nil {
		t.Fatalf("muster does not run: %v", w.musterErr)
	}
	return w
}

func stopWorlds() {
	for _, w := range worlds.all {
		if w != nil {
			w.stop()
		}
	}
}

func (w *world) stop() {
	if w.muster != nil && w.muster.Process != nil && w.muster.Process.Running() {
		w.muster.Process.Kill()
	}
	if w.auditor != nil {
		w.auditor.Stop()
	}
	if w.images != nil {
		w.images.stop()
	}
	w.Stop()
	if w.service != nil {
		w.service.Close()
	}
	if w.proxy != nil {
		w.proxy.Close()
	}
}

// part is what a lane claims: one test of the usual control plane, or all tests of another one. Those of other projects' controllers
// are one part, for one table tells of them all.
func (o worldOptions) part(t *testing.T) string {
	if o.operators || o.kueue {
		return o.version + " controllers"
	}
	if o != (worldOptions{version: o.version}) {
		return o.name()
	}
	test, _, _ := strings.Cut(t.Name(), "/")
	return o.version + " " + test
}

func (o worldOptions) name() string {
	name := o.version
	if o.native {
		name += "-native"
	}
	if o.jobs {
		name += "-jobs"
	}
	if o.bulk {
		name += "-bulk"
	}
	if o.kueue {
		name += "-kueue"
	}
	if o.webhook {
		name += "-webhook"
	}
	if o.operators {
		name += "-operators"
	}
	if o.apart {
		name += "-apart"
	}
	if o.autoscaler != "" {
		name += "-" + o.autoscaler
	}
	if o.upgrades {
		name += "-upgrades"
	}
	if o.walk {
		name += "-walk"
	}
	return name
}

func startWorld(o worldOptions) (*world, error) {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	dir, err := controlplane.StateDir(o.name())
	if err != nil {
		return nil, err
	}
	options := controlplane.Options{Version: o.version, Dir: dir, Kubelets: !o.bulk, Controllers: true}
	if o.native {
		options.Gates = controlplane.NativeGangs(o.version)
	}
	if o.jobs {
		options.Gates = controlplane.JobsOfGroups(o.version)
	}
	w := &world{bulk: o.bulk}
	if o.webhook {
		w.webhook = process.MustFreePort()
	}
	if w.ControlPlane, err = controlplane.Start(ctx, options); err != nil {
		return nil, err
	}
	w.audit = audit.Log{File: w.AuditLog}
	if _, err := w.StartScheduler(ctx, controlplane.Scheduler{
		Name: "default-scheduler", Config: controlplane.DefaultScheduler,
	}); err != nil {
		return nil, err
	}
	w.auditor, err = auditor.Start(ctx, w.Client, auditor.Options{PartialDeadline: partialDeadline, GangOf: objects.GangOf})
	return w, err
}

func (w *world) startMuster(ctx context.Context) error {
	var err error
	overlay := muster.Overlay(w.Options.Version)
	if w.webhook != 0 {
		overlay = muster.WebhookOverlay
	}
	if w.files, err = muster.InstallOverlay(ctx, w.ControlPlane, overlay); err != nil {
		return err
	}
	if w.webhook != 0 {
		if err := muster.PointWebhook(ctx, w.ControlPlane, w.webhook); err != nil {
			return err
		}
	}
	if w.proxy, err = proxy.Start(w.URL, w.CA.File, w.CA); err != nil {
		return err
	}
	w.policy = filepath.Join(w.Options.Dir, "policy.yaml")
	if err := w.writePolicy(""); err != nil {
		return err
	}
	if w.muster, err = w.newMuster(ctx, "muster", ""); err != nil {
		return err
	}
	if err := w.muster.Start(); err != nil {
		return err
	}
	ready, cancel := context.WithTimeout(ctx, readyDeadline)
	defer cancel()
	if err := w.muster.WaitReady(ready); err != nil {
		return err
	}
	if w.service, err = muster.NewService(); err != nil {
		return err
	}
	w.service.Lead(addressOf(w.muster))
	return w.startSchedulerOfMuster(ctx)
}

// newMuster prepares a replica that speaks to the API server through the proxy.
func (w *world) newMuster(ctx context.Context, name, pod string) (*muster.Server, error) {
	return muster.New(ctx, w.ControlPlane, muster.Options{
		Name: name, Files: w.files, Policy: w.policy, URL: w.proxy.URL, CA: w.CA.File, Pod: pod, Webhook: w.webhook,
	})
}

// writePolicy writes the manifests' policy with more behind it. It takes the file's place at once, as a kubelet does it.
func (w *world) writePolicy(more string) error {
	path, err := muster.PolicyPath()
	if err != nil {
		return err
	}
	policy, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if err := os.WriteFile(w.policy+".new", append(policy, more...), 0o644); err != nil {
		return err
	}
	return os.Rename(w.policy+".new", w.policy)
}

func addressOf(s *muster.Server) string { return fmt.Sprintf("127.0.0.1:%d", s.ExtenderPort) }

func (w *world) startSchedulerOfMuster(ctx context.Context) error {
	if w.schedulerSpec.Config == "" {
		config, err := muster.SchedulerConfig(w.files, w.service.Port)
		if err != nil {
			return err
		}
		token, err := w.Token(ctx, muster.Namespace, muster.SchedulerAccount)
		if err != nil {
			return err
		}
		w.schedulerSpec = controlplane.Scheduler{Name: "muster-scheduler", Config: config, Token: token}
	}
	var err error
	w.scheduler, err = w.StartScheduler(ctx, w.schedulerSpec)
	return err
}

// breaches are what the auditor has found, as one error.
func (w *world) breaches() error {
	if found := w.auditor.Breaches(); len(found) > 0 {
		return errors.New(strings.Join(found, "\n"))
	}
	return nil
}
