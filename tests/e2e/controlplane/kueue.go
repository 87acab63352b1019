package controlplane

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/process"
)

const (
	kueueNamespace   = "kueue-system"
	kueueCertificate = "kueue-webhook-server-cert"
)

// HasKueue tells whether Kueue's controller is built.
func HasKueue() bool {
	_, err := Program("kueue", "kueue")
	return err == nil
}

// The controller's configuration: what its manifests have, for Jobs and plain pods, with the addresses of this machine.
const kueueConfig = `apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
namespace: kueue-system
health: {healthProbeBindAddress: "127.0.0.1:%d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %d, certDir: %q}
leaderElection: {leaderElect: false}
clientConnection: {qps: 500, burst: 1000}
integrations: {frameworks: ["batch/job", "pod"]}
featureGates: {VisibilityOnDemand: false}
`

// StartKueue installs Kueue's manifests, runs its controller with the token of its service account, and returns once it
// admits objects.
func (cp *ControlPlane) StartKueue(ctx context.Context) (*process.Process, error) {
	program, err := Program("kueue", "kueue")
	if err != nil {
		return nil, err
	}
	health, webhooks := process.MustFreePort(), process.MustFreePort()
	if err := cp.installKueue(ctx, webhooks); err != nil {
		return nil, err
	}
	token, err := cp.Token(ctx, kueueNamespace, "kueue-controller-manager")
	if err != nil {
		return nil, err
	}
	kubeconfig, err := cp.WriteKubeconfig("kueue.kubeconfig", token)
	if err != nil {
		return nil, err
	}
	certificates := cp.file("kueue-certificates")
	if err := os.MkdirAll(certificates, 0o755); err != nil {
		return nil, err
	}
	config := fmt.Sprintf(kueueConfig, health, webhooks, certificates)
	if err := os.WriteFile(cp.file("kueue.yaml"), []byte(config), 0o644); err != nil {
		return nil, err
	}
	p, err := process.Start(process.Spec{Name: "kueue", Path: program, Dir: cp.Options.Dir, Detached: cp.Options.Detached,
		Args: []string{"--config=" + cp.file("kueue.yaml"), "--kubeconfig=" + kubeconfig, "--zap-log-level=2"}})
	if err != nil {
		return nil, err
	}
	cp.kueue = p
	if err := waitFor(ctx, p, func(ctx context.Context) error { return cp.mountCertificate(ctx, certificates) }); err != nil {
		return p, err
	}
	return p, waitFor(ctx, p, func(ctx context.Context) error { return answersReady(ctx, health) })
}

var webhookPath = regexp.MustCompile(`(?m)^( *)path: (/\S+)$`)

func (cp *ControlPlane) installKueue(ctx context.Context, port int) error {
	root, err := Root()
	if err != nil {
		return err
	}
	manifests, err := cp.Kubectl(ctx, "", "kustomize", "--load-restrictor=LoadRestrictionsNone", filepath.Join(root, "tests/e2e/kueue"))
	if err != nil {
		return err
	}
	manifests = webhookPath.ReplaceAllString(manifests, fmt.Sprintf("${1}path: ${2}\n${1}port: %d", port))
	_, err = cp.Kubectl(ctx, manifests, "apply", "--server-side", "-f", "-")
	return err
}

// mountCertificate does what a kubelet does: the controller writes its certificate into a Secret, and reads it from a folder.
func (cp *ControlPlane) mountCertificate(ctx context.Context, folder string) error {
	secret, err := cp.Client.CoreV1().Secrets(kueueNamespace).Get(ctx, kueueCertificate, metav1.GetOptions{})
	if err != nil {
		return err
	}
	if len(secret.Data["tls.crt"]) == 0 {
		return errors.New("it has not written its certificate yet")
	}
	for name, bytes := range secret.Data {
		if err := os.WriteFile(filepath.Join(folder, name), bytes, 0o600); err != nil {
			return err
		}
	}
	return nil
}
