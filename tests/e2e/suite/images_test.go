package suite

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/process"
)

// images plays the nodes that run Muster's images: for each pod of its Deployments a process runs on this machine, with what the
// pod mounts, for as long as the pod is there. The pod is Ready when its process says so. So `kubectl apply -k` and a rollout do
// what they do in a cluster. One goroutine looks after it all.
type images struct {
	*world
	dir       string
	extender  *muster.Service // in place of Services: where kube-scheduler calls
	pages     *muster.Service // of the leader's API port
	webhooks  *muster.Service
	scheduler *process.Process
	cancel    context.CancelFunc
	ended     chan struct{}

	// Of the goroutine.
	running map[types.UID]*image
	next    int

	mu      sync.Mutex
	problem string // the last that it could not do
}

// image is one process of Muster.
type image struct {
	server  *muster.Server
	webhook int
	ip      string
	told    string // what its pod's status says
}

const imagesLook = 300 * time.Millisecond

func startImages(w *world) (*images, error) {
	m := &images{world: w, dir: filepath.Join(w.Options.Dir, "mounts"), running: map[types.UID]*image{}, ended: make(chan struct{})}
	for _, service := range []**muster.Service{&m.extender, &m.pages, &m.webhooks} {
		var err error
		if *service, err = muster.NewService(); err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	m.cancel = cancel
	go func() {
		defer close(m.ended)
		for ctx.Err() == nil {
			err := m.look(ctx)
			m.mu.Lock()
			m.problem = ""
			if err != nil {
				m.problem = err.Error()
			}
			m.mu.Unlock()
			time.Sleep(imagesLook)
		}
	}()
	return m, nil
}

func (m *images) stop() {
	m.cancel()
	<-m.ended
	for _, one := range m.running {
		one.server.Process.Kill()
	}
	for _, service := range []*muster.Service{m.extender, m.pages, m.webhooks} {
		service.Close()
	}
}

// trouble is what keeps pods from running, for messages.
func (m *images) trouble() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.problem
}

func (m *images) look(ctx context.Context) error {
	pods, err := m.Client.CoreV1().Pods(muster.Namespace).List(ctx, metav1.ListOptions{LabelSelector: "app.kubernetes.io/name=muster"})
	if err != nil {
		return err
	}
	var failed error
	there := map[types.UID]bool{}
	for i := range pods.Items {
		pod := &pods.Items[i]
		if pod.Spec.NodeName == "" || pod.DeletionTimestamp != nil {
			continue
		}
		there[pod.UID] = true
		if err := m.runs(ctx, pod); err != nil {
			failed = fmt.Errorf("%s: %w", pod.Name, err)
		}
	}
	for uid, one := range m.running {
		if !there[uid] {
			delete(m.running, uid)
			go one.server.Process.Stop(30 * time.Second)
		}
	}
	if err := m.lead(ctx); err != nil {
		return err
	}
	return failed
}

// runs does what a kubelet does for a pod.
func (m *images) runs(ctx context.Context, pod *corev1.Pod) error {
	files, err := m.mount(ctx)
	if err != nil {
		return err
	}
	ready := false
	one := m.running[pod.UID]
	if pod.Labels["app.kubernetes.io/component"] == "scheduler" {
		if one == nil {
			one = &image{}
		}
		if ready, err = m.runsScheduler(ctx, files); err != nil {
			return err
		}
		return m.report(ctx, pod, one, ready)
	}
	if one == nil {
		if one, err = m.run(ctx, pod, files); err != nil {
			return err
		}
		m.running[pod.UID] = one
	}
	return m.report(ctx, pod, one, answersProbes(one.server))
}

func (m *images) run(ctx context.Context, pod *corev1.Pod, files muster.Files) (*image, error) {
	m.next++
	one := &image{ip: fmt.Sprintf("10.8.0.%d", m.next)}
	for _, arg := range pod.Spec.Containers[0].Args {
		if strings.HasPrefix(arg, "--webhook=") {
			one.webhook = process.MustFreePort()
		}
	}
	var err error
	one.server, err = muster.New(ctx, m.ControlPlane, muster.Options{
		Name: pod.Name, Files: files, Policy: filepath.Join(m.dir, "policy.yaml"), Pod: pod.Name, Webhook: one.webhook,
	})
	if err != nil {
		return nil, err
	}
	return one, one.server.Start()
}

// mount writes the Secrets and the ConfigMap of the pods into files.
func (m *images) mount(ctx context.Context) (muster.Files, error) {
	files := muster.CertificatesIn(m.dir)
	for secret, folder := range map[string]string{"muster-tls": files.Server, "muster-scheduler-tls": files.Client} {
		object, err := m.Client.CoreV1().Secrets(muster.Namespace).Get(ctx, secret, metav1.GetOptions{})
		if err != nil {
			return files, err
		}
		for name, bytes := range object.Data {
			if err := replaceFile(filepath.Join(folder, name), bytes); err != nil {
				return files, err
			}
		}
	}
	policy, err := m.Client.CoreV1().ConfigMaps(muster.Namespace).Get(ctx, "muster-policy", metav1.GetOptions{})
	if err != nil {
		return files, err
	}
	return files, replaceFile(filepath.Join(m.dir, "policy.yaml"), []byte(policy.Data["policy.yaml"]))
}

// replaceFile changes a file at once, if it has to be changed.
func replaceFile(path string, bytes []byte) error {
	if now, err := os.ReadFile(path); err == nil && string(now) == string(bytes) {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(path+".new", bytes, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}

// runsScheduler starts the one kube-scheduler that stands for all pods of its Deployment.
func (m *images) runsScheduler(ctx context.Context, files muster.Files) (ready bool, err error) {
	if m.scheduler != nil {
		return m.scheduler.Running(), nil
	}
	config, err := muster.SchedulerConfig(files, m.extender.Port)
	if err != nil {
		return false, err
	}
	token, err := m.Token(ctx, muster.Namespace, muster.SchedulerAccount)
	if err != nil {
		return false, err
	}
	m.scheduler, err = m.StartScheduler(ctx, controlplane.Scheduler{Name: "muster-scheduler", Config: config, Token: token})
	return err == nil, err
}

// report writes the pod's status as its kubelet would.
func (m *images) report(ctx context.Context, pod *corev1.Pod, one *image, ready bool) error {
	state := map[bool]string{true: "True", false: "False"}[ready]
	if one.told == state || one.server == nil && pod.Status.Phase == corev1.PodRunning {
		return nil
	}
	if one.ip == "" {
		m.next++
		one.ip = fmt.Sprintf("10.8.0.%d", m.next)
	}
	now := time.Now().UTC().Format(time.RFC3339)
	var conditions, containers []map[string]any
	for _, kind := range []string{"Initialized", "ContainersReady", "Ready"} {
		status := state
		if kind == "Initialized" {
			status = "True"
		}
		conditions = append(conditions, map[string]any{"type": kind, "status": status, "lastTransitionTime": now})
	}
	for _, container := range pod.Spec.Containers {
		containers = append(containers, map[string]any{
			"name": container.Name, "image": container.Image, "imageID": "", "ready": ready, "started": true, "restartCount": 0,
			"state": map[string]any{"running": map[string]any{"startedAt": now}},
		})
	}
	patch, err := json.Marshal(map[string]any{"status": map[string]any{
		"phase": "Running", "startTime": now, "podIP": one.ip, "podIPs": []map[string]any{{"ip": one.ip}},
		"conditions": conditions, "containerStatuses": containers,
	}})
	if err != nil {
		return err
	}
	_, err = m.Client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
	if err == nil {
		one.told = state
	}
	return err
}

// lead does what Services do: connections go to the pod that is the Service's endpoint, those of the webhook to any that is ready.
func (m *images) lead(ctx context.Context) error {
	slices, err := m.Client.DiscoveryV1().EndpointSlices(muster.Namespace).List(ctx,
		metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=muster"})
	if err != nil {
		return err
	}
	endpoints := map[string]bool{}
	for _, slice := range slices.Items {
		for _, endpoint := range slice.Endpoints {
			for _, address := range endpoint.Addresses {
				endpoints[address] = endpoint.Conditions.Ready == nil || *endpoint.Conditions.Ready
			}
		}
	}
	extender, pages, webhook := "", "", ""
	for _, one := range m.running {
		if endpoints[one.ip] {
			extender, pages = addressOf(one.server), strings.TrimPrefix(one.server.MetricsURL, "http://")
		}
		if one.webhook != 0 && one.told == "True" {
			webhook = fmt.Sprintf("127.0.0.1:%d", one.webhook)
		}
	}
	m.extender.Lead(extender)
	m.pages.Lead(pages)
	m.webhooks.Lead(webhook)
	if webhook == "" {
		return nil
	}
	configs := m.Client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	config, err := configs.Get(ctx, "muster-schedule", metav1.GetOptions{})
	if err != nil || config.Webhooks[0].ClientConfig.URL != nil {
		return err
	}
	return muster.PointWebhook(ctx, m.ControlPlane, m.webhooks.Port)
}
