package controlplane

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"muster.dev/e2e/process"
)

// What the API server writes down: who changed what. Reads are not counted anywhere.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: None
  verbs: [get, list, watch]
- level: None
  users: [e2e-kubelet, "system:kube-controller-manager"]
- level: None
  userGroups: ["system:serviceaccounts:kube-system"]
- level: Metadata
`

func (cp *ControlPlane) startEtcd(ctx context.Context) error {
	client, peer := process.MustFreePort(), process.MustFreePort()
	cp.etcdURL = fmt.Sprintf("http://127.0.0.1:%d", client)
	peerURL := fmt.Sprintf("http://127.0.0.1:%d", peer)
	var err error
	cp.etcd, err = cp.run("etcd", "etcd",
		"--data-dir="+cp.file("etcd"), "--unsafe-no-fsync", "--log-level=warn",
		"--quota-backend-bytes=4294967296", "--snapshot-count=100000",
		"--listen-client-urls="+cp.etcdURL, "--advertise-client-urls="+cp.etcdURL,
		"--listen-peer-urls="+peerURL, "--initial-advertise-peer-urls="+peerURL, "--initial-cluster=default="+peerURL)
	return err
}

func (cp *ControlPlane) prepareAPIServer(context.Context) error {
	pair, err := cp.CA.Server("kube-apiserver", "kubernetes", "kubernetes.default", "kubernetes.default.svc")
	if err != nil {
		return err
	}
	if err := os.WriteFile(cp.file("audit-policy.yaml"), []byte(auditPolicy), 0o644); err != nil {
		return err
	}
	port := process.MustFreePort()
	cp.URL = fmt.Sprintf("https://127.0.0.1:%d", port)
	cp.apiserverArgs = append([]string{
		"--etcd-servers=" + cp.etcdURL,
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--tls-cert-file=" + pair.Cert, "--tls-private-key-file=" + pair.Key,
		"--endpoint-reconciler-type=none", "--service-cluster-ip-range=10.0.0.0/16",
		"--service-account-key-file=" + cp.file("service-accounts.key"),
		"--service-account-signing-key-file=" + cp.file("service-accounts.key"),
		"--service-account-issuer=https://kubernetes.default.svc",
		"--token-auth-file=" + cp.file("tokens.csv"), "--authorization-mode=RBAC",
		"--audit-policy-file=" + cp.file("audit-policy.yaml"), "--audit-log-path=" + cp.AuditLog,
		"--audit-log-mode=batch", "--audit-log-batch-max-wait=200ms", "--audit-log-batch-max-size=1000",
		"--audit-log-batch-throttle-enable=false", "--audit-log-batch-buffer-size=200000",
		"--shutdown-delay-duration=0s", "--delete-collection-workers=16",
	}, cp.Options.gateFlags()...)
	cp.apiserverArgs = append(cp.apiserverArgs, cp.Options.APIServerFlags...)
	if config := runtimeConfig(cp.Options); config != "" {
		cp.apiserverArgs = append(cp.apiserverArgs, "--runtime-config="+config)
	}
	cp.Kubeconfig, err = cp.WriteKubeconfig("admin.kubeconfig", cp.tokens["e2e-admin"])
	return err
}

func (cp *ControlPlane) startAPIServer(ctx context.Context) error {
	var err error
	if cp.apiserver, err = cp.run("kube-apiserver", "kube-apiserver", cp.apiserverArgs...); err != nil {
		return err
	}
	if cp.Client, err = kubernetes.NewForConfig(cp.Config()); err != nil {
		return err
	}
	if cp.Dynamic, err = dynamic.NewForConfig(cp.Config()); err != nil {
		return err
	}
	return waitFor(ctx, cp.apiserver, func(ctx context.Context) error {
		_, err := cp.Client.Discovery().RESTClient().Get().AbsPath("/readyz").DoRaw(ctx)
		return err
	})
}

// RestartAPIServer ends the API server and starts it again on its port; meanwhile runs between the two.
func (cp *ControlPlane) RestartAPIServer(ctx context.Context, meanwhile func()) error {
	cp.apiserver.Kill()
	if meanwhile != nil {
		meanwhile()
	}
	return cp.startAPIServer(ctx)
}

// APIServer is the process, for its processor time.
func (cp *ControlPlane) APIServer() *process.Process { return cp.apiserver }

// Etcd is the process, for the same.
func (cp *ControlPlane) Etcd() *process.Process { return cp.etcd }

func (cp *ControlPlane) startControllers(ctx context.Context) error {
	if !cp.Options.Controllers {
		return nil
	}
	kubeconfig, err := cp.WriteKubeconfig("kube-controller-manager.kubeconfig", cp.tokens["system:kube-controller-manager"])
	if err != nil {
		return err
	}
	// Nodes have no heartbeats here: their conditions are as the test writes them. Removed pods go at once.
	args := append([]string{
		"--kubeconfig=" + kubeconfig, "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig,
		"--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", process.MustFreePort()), "--cert-dir=" + cp.file("kcm"),
		"--service-account-private-key-file=" + cp.file("service-accounts.key"), "--root-ca-file=" + cp.CA.File,
		"--use-service-account-credentials", "--leader-elect=false", "--node-monitor-grace-period=24h",
		"--kube-api-qps=500", "--kube-api-burst=1000", "--concurrent-gc-syncs=5",
	}, cp.Options.gateFlags()...)
	if cp.controllers, err = cp.run("kube-controller-manager", "kube-controller-manager", args...); err != nil {
		return err
	}
	return waitFor(ctx, cp.controllers, func(ctx context.Context) error {
		_, err := cp.Client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func (cp *ControlPlane) startKubelets(context.Context) error {
	if !cp.Options.Kubelets {
		return nil
	}
	root, err := Root()
	if err != nil {
		return err
	}
	kubeconfig, err := cp.WriteKubeconfig("kwok.kubeconfig", cp.tokens["e2e-kubelet"])
	if err != nil {
		return err
	}
	cp.kubelets, err = cp.run("kwok", "kwok",
		"--kubeconfig="+kubeconfig, "--manage-all-nodes", "--node-ip=127.0.0.1", "--node-lease-duration-seconds=0",
		"--config="+filepath.Join(root, "tests/e2e/kwok/stages.yaml"))
	return err
}

// WriteKubeconfig writes a kubeconfig that holds a token and nothing else.
func (cp *ControlPlane) WriteKubeconfig(name, token string) (string, error) {
	return cp.WriteKubeconfigFor(name, cp.URL, cp.CA.File, token)
}

// WriteKubeconfigFor does so for another address of the API server.
func (cp *ControlPlane) WriteKubeconfigFor(name, url, ca, token string) (string, error) {
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: e2e
  cluster: {server: %q, certificate-authority: %q}
users:
- name: e2e
  user: {token: %q}
contexts:
- name: e2e
  context: {cluster: e2e, user: e2e}
current-context: e2e
`, url, ca, token)
	return cp.file(name), os.WriteFile(cp.file(name), []byte(text), 0o600)
}

// Scheduler says how to run a kube-scheduler.
type Scheduler struct {
	Name   string // of its process
	Config string // a KubeSchedulerConfiguration; @KUBECONFIG@ stands for the path of its kubeconfig
	Token  string // empty: that of system:kube-scheduler
}

// StartScheduler runs a kube-scheduler and returns once it is healthy.
func (cp *ControlPlane) StartScheduler(ctx context.Context, s Scheduler) (*process.Process, error) {
	token := s.Token
	if token == "" {
		token = cp.tokens["system:kube-scheduler"]
	}
	kubeconfig, err := cp.WriteKubeconfig(s.Name+".kubeconfig", token)
	if err != nil {
		return nil, err
	}
	config := strings.ReplaceAll(s.Config, "@KUBECONFIG@", kubeconfig)
	if err := os.WriteFile(cp.file(s.Name+".yaml"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	port := process.MustFreePort()
	args := append([]string{
		"--config=" + cp.file(s.Name+".yaml"), "--bind-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port),
		"--cert-dir=" + cp.file(s.Name), "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics", "--v=2",
	}, cp.Options.gateFlags()...)
	p, err := cp.run(s.Name, "kube-scheduler", args...)
	if err != nil {
		return nil, err
	}
	cp.schedulers = append(cp.schedulers, p)
	return p, waitFor(ctx, p, func(ctx context.Context) error { return schedulerReady(ctx, port) })
}

func namespace(name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func serviceAccount() *corev1.ServiceAccount {
	return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}}
}

// DefaultScheduler is kube-scheduler as a cluster has it, but for the rate of its client.
const DefaultScheduler = `apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
leaderElection: {leaderElect: false}
clientConnection: {kubeconfig: "@KUBECONFIG@", qps: 1000, burst: 2000}
`

// How long a question about health may take.
const probeTimeout = 2 * time.Second
