// Package muster installs Muster's manifests into a control plane and runs its programs beside it: muster itself and
// the second kube-scheduler. Both hold the tokens of the manifests' service accounts and nothing else.
package muster

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"muster.dev/e2e/controlplane"
)

// The namespace and the accounts of the manifests.
const (
	Namespace        = "muster-system"
	Account          = "muster"
	SchedulerAccount = "muster-scheduler"
	ServiceName      = "muster.muster-system.svc"
)

// Files are the certificates of both sides.
type Files struct{ Server, Client string } // folders of ca.crt, tls.crt and tls.key

// WebhookOverlay has Muster's webhook in place of the admission policies.
const WebhookOverlay = "manifests/overlays/before-1.36"

// Overlay is the Kustomize folder for a Kubernetes version.
func Overlay(version string) string {
	if version == controlplane.Older {
		return WebhookOverlay
	}
	return "manifests/overlays/default"
}

// Install does what docs/how-to/install.md says: certificates, then the manifests. Their Deployments are scaled to nothing,
// because no played kubelet can run an image; Start and StartScheduler run the same programs as processes.
func Install(ctx context.Context, cp *controlplane.ControlPlane) (Files, error) {
	return InstallOverlay(ctx, cp, Overlay(cp.Options.Version))
}

// InstallOverlay does so with another Kustomize folder.
func InstallOverlay(ctx context.Context, cp *controlplane.ControlPlane, overlay string) (Files, error) {
	files, err := MakeCertificates(ctx, cp)
	if err != nil {
		return Files{}, err
	}
	root, err := controlplane.Root()
	if err != nil {
		return Files{}, err
	}
	return files, Apply(ctx, cp, filepath.Join(root, overlay))
}

// MakeCertificates makes and applies the Secrets of both sides.
func MakeCertificates(ctx context.Context, cp *controlplane.ControlPlane) (Files, error) {
	root, err := controlplane.Root()
	if err != nil {
		return Files{}, err
	}
	folder := filepath.Join(cp.LogDir(), "certificates")
	script := exec.CommandContext(ctx, filepath.Join(root, "manifests/certificates/make-secrets.sh"), "--out", folder)
	script.Stderr = os.Stderr
	secrets, err := script.Output()
	if err != nil {
		return Files{}, fmt.Errorf("make-secrets.sh: %w", err)
	}
	_, err = cp.Kubectl(ctx, string(secrets), "apply", "-f", "-")
	return CertificatesIn(folder), err
}

// CertificatesIn are those that make-secrets.sh has written into a folder.
func CertificatesIn(folder string) Files {
	return Files{Server: filepath.Join(folder, "extender"), Client: filepath.Join(folder, "scheduler")}
}

// Apply applies a Kustomize folder of manifests, of this release or of another.
func Apply(ctx context.Context, cp *controlplane.ControlPlane, overlay string) error {
	if _, err := cp.Kubectl(ctx, "", "apply", "-k", overlay); err != nil {
		return err
	}
	return ScaleToNothing(ctx, cp)
}

// ScaleToNothing is for the Deployments, in whose place processes run; the CRD is served when this returns.
func ScaleToNothing(ctx context.Context, cp *controlplane.ControlPlane) error {
	if _, err := cp.Kubectl(ctx, "", "-n", Namespace, "scale", "deployment", "--all", "--replicas=0"); err != nil {
		return err
	}
	_, err := cp.Kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=30s",
		"crd/podgroups.scheduling.x-k8s.io")
	return err
}

// PointWebhook has the API server call this port in place of the Service, behind which no pod is.
func PointWebhook(ctx context.Context, cp *controlplane.ControlPlane, port int) error {
	var patch []string
	for i, kind := range []string{"gpu", "all"} {
		patch = append(patch, fmt.Sprintf(
			`{"op": "replace", "path": "/webhooks/%d/clientConfig", "value": {"url": "https://127.0.0.1:%d/admit/%s"}}`, i, port, kind))
	}
	_, err := cp.Kubectl(ctx, "", "patch", "mutatingwebhookconfiguration", "muster-schedule", "--type=json",
		"--patch=["+strings.Join(patch, ",")+"]")
	return err
}

// SchedulerConfig is the manifests' KubeSchedulerConfiguration with the addresses of this machine.
func SchedulerConfig(files Files, extenderPort int) (string, error) {
	root, err := controlplane.Root()
	if err != nil {
		return "", err
	}
	bytes, err := os.ReadFile(filepath.Join(root, "manifests/scheduler/config.yaml"))
	if err != nil {
		return "", err
	}
	config := string(bytes)
	for _, change := range [][2]string{
		{`kubeconfig: ""`, `kubeconfig: "@KUBECONFIG@"`},
		{"https://" + ServiceName + ":8888", fmt.Sprintf("https://127.0.0.1:%d", extenderPort)},
		// The certificate says the Service's name, and so does a kube-scheduler inside the cluster.
		{"tlsConfig:\n", "tlsConfig:\n    serverName: " + ServiceName + "\n"},
		{"/etc/muster-scheduler/tls", files.Client},
	} {
		if !strings.Contains(config, change[0]) {
			return "", fmt.Errorf("manifests/scheduler/config.yaml has no %q", change[0])
		}
		config = strings.ReplaceAll(config, change[0], change[1])
	}
	return config, nil
}
