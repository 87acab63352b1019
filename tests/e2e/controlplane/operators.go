package controlplane

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"muster.dev/e2e/process"
)

// An operator is a controller of another project that makes pods, with its CRDs and webhooks as its module has them.
type operator struct {
	crds     []string // files and folders of its manifests
	webhooks string   // a Kustomize folder of them; empty: it has none
	config   string   // its configuration, with the ports of its health, its webhooks, and the folder of its certificate
	args     []string // %[1]d, %[2]d and %[3]s stand for the same; %[4]s for its configuration, %[5]s for its kubeconfig
	probed   bool     // it answers /readyz on the port of its health
	port     int      // of its webhooks, where it cannot be chosen
	applied  bool     // its configuration is an object
	// Its code makes certificates itself, into this Secret, and waits until a kubelet has mounted them, in this folder if it
	// cannot be chosen.
	secretNamespace, secret, mounted string
	folder                           string   // of its module and its program, where that is not operators
	env                              []string // added to its environment
}

const operatorUser = "e2e-operator"

var operators = map[string]operator{
	"jobset": {
		crds: []string{"config/components/crd/bases"}, webhooks: "config/components/webhook", probed: true,
		config: `apiVersion: config.jobset.x-k8s.io/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%[1]d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %[2]d, certDir: %[3]q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
`,
		args: []string{"--config=%[4]s"},
	},
	"lws": {
		crds: []string{"config/crd/bases"}, webhooks: "config/webhook", probed: true,
		config: `apiVersion: config.lws.x-k8s.io/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%[1]d"}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %[2]d, certDir: %[3]q}
leaderElection: {leaderElect: false}
internalCertManagement: {enable: false}
`,
		args: []string{"--config=%[4]s"},
	},
	// Its rotator of certificates is always on; it leaves these webhooks alone, for they have another name here.
	"training-operator": {
		crds: []string{"manifests/base/crds"}, webhooks: "manifests/base/webhook", probed: true,
		args: []string{"--metrics-bind-address=0", "--health-probe-bind-address=127.0.0.1:%[1]d", "--webhook-server-port=%[2]d",
			"--kube-api-qps=200", "--kube-api-burst=400"},
		secretNamespace: "kubeflow", secret: "training-operator-webhook-cert", mounted: "/tmp/k8s-webhook-server/serving-certs",
	},
	"trainer": {
		crds: []string{"manifests/base/crds"}, webhooks: "manifests/base/webhook", probed: true,
		config: `apiVersion: config.trainer.kubeflow.org/v1alpha1
kind: Configuration
health: {healthProbeBindAddress: "127.0.0.1:%[1]d", readinessEndpointName: readyz, livenessEndpointName: healthz}
metrics: {bindAddress: "0"}
webhook: {host: 127.0.0.1, port: %[2]d}
leaderElection: {leaderElect: false}
certManagement: {enable: false}
`,
		args: []string{"--config=%[4]s"},
	},
	"kuberay": {
		crds: []string{"config/crd/bases"}, probed: true,
		args: []string{"--metrics-addr=0", "--health-probe-bind-address=127.0.0.1:%[1]d", "--enable-leader-election=false"},
	},
	// The port of its webhooks is fixed, and its configuration is in a ConfigMap.
	"appwrapper": {
		crds: []string{"config/crd/bases"}, webhooks: "config/webhook", probed: true, port: 9443,
		config: `apiVersion: v1
kind: ConfigMap
metadata: {name: appwrapper-operator-config, namespace: appwrapper-system}
data:
  config.yaml: |
    controllerManager: {health: {bindAddress: "127.0.0.1:%[1]d"}, metrics: {bindAddress: "0"}}
    certManagement: {certificateDir: %[3]q}
    appwrapper: {faultTolerance: {failureGracePeriod: 1000000000, resetPause: 2000000000}} # nanoseconds; a minute and a half else
    webhooksEnabled: true
`,
		applied: true, secretNamespace: "appwrapper-system", secret: "appwrapper-webhook-server-cert",
	},
	"mpi-operator": {
		crds: []string{"manifests/base/kubeflow.org_mpijobs.yaml"},
		args: []string{"--kube-api-qps=200", "--kube-api-burst=400", "--lock-namespace=default"},
	},
	"karpenter":          karpenter,
	"cluster-autoscaler": clusterAutoscaler,
}

func (o operator) program(name string) (string, error) {
	if o.folder == "" {
		return Program("operators", name)
	}
	return Program(o.folder, name)
}

// HasOperator tells whether that controller is built.
func HasOperator(name string) bool {
	_, err := operators[name].program(name)
	return err == nil
}

// StartOperator installs a controller's CRDs, runs it as an administrator, and has the API server call its webhooks. It is at
// work when this returns.
func (cp *ControlPlane) StartOperator(ctx context.Context, name string) (*process.Process, error) {
	o, known := operators[name]
	if !known {
		return nil, fmt.Errorf("no operator is named %q", name)
	}
	program, err := o.program(name)
	if err != nil {
		return nil, err
	}
	manifests := filepath.Join(filepath.Dir(program), "manifests", name)
	if err := cp.installCRDs(ctx, manifests, o.crds); err != nil {
		return nil, err
	}
	kubeconfig, err := cp.WriteKubeconfig(name+".kubeconfig", cp.tokens[operatorUser])
	if err != nil {
		return nil, err
	}
	// What its code has for a folder of certificates lies below TMPDIR.
	scratch := cp.file(name)
	certificates := filepath.Join(scratch, "k8s-webhook-server", "serving-certs")
	if err := cp.writeCertificate(name, certificates); err != nil {
		return nil, err
	}
	if o.secret != "" {
		if err := cp.mountSecret(ctx, o, name); err != nil {
			return nil, err
		}
	}
	health, port, config := process.MustFreePort(), o.port, cp.file(name+".yaml")
	if port == 0 {
		port = process.MustFreePort()
	}
	if o.config != "" {
		text := o.config
		if strings.Contains(text, "%[1]d") {
			text = fmt.Sprintf(text, health, port, certificates)
		}
		if err := os.WriteFile(config, []byte(text), 0o644); err != nil {
			return nil, err
		}
	}
	if o.applied {
		if _, err := cp.Kubectl(ctx, "", "apply", "-f", config); err != nil {
			return nil, err
		}
	}
	var args []string
	for _, arg := range o.args {
		args = append(args, strings.NewReplacer("%[1]d", fmt.Sprint(health), "%[2]d", fmt.Sprint(port), "%[4]s", config,
			"%[5]s", kubeconfig).Replace(arg))
	}
	p, err := process.Start(process.Spec{Name: name, Path: program, Args: args, Dir: cp.Options.Dir, Detached: cp.Options.Detached,
		Env: append([]string{"KUBECONFIG=" + kubeconfig, "TMPDIR=" + scratch, "NAMESPACE=" + o.secretNamespace}, o.env...)})
	if err != nil {
		return nil, err
	}
	cp.operators = append(cp.operators, p)
	if o.probed {
		if err := waitFor(ctx, p, func(ctx context.Context) error { return answersReady(ctx, health) }); err != nil {
			return p, err
		}
	}
	if o.webhooks == "" {
		return p, nil
	}
	if err := waitFor(ctx, p, func(ctx context.Context) error { return listens(ctx, port) }); err != nil {
		return p, err
	}
	return p, cp.installWebhooks(ctx, name, filepath.Join(manifests, o.webhooks), port)
}

func (cp *ControlPlane) installCRDs(ctx context.Context, manifests string, crds []string) error {
	for _, part := range crds {
		files, err := filepath.Glob(filepath.Join(manifests, part, "*.yaml"))
		if err != nil {
			return err
		}
		if len(files) == 0 {
			files = []string{filepath.Join(manifests, part)}
		}
		for _, file := range files {
			if filepath.Base(file) == "kustomization.yaml" {
				continue
			}
			if _, err := cp.Kubectl(ctx, "", "apply", "--server-side", "-f", file); err != nil {
				return err
			}
			if err := poll(ctx, func() error { // kubectl does not wait for the first condition
				_, err := cp.Kubectl(ctx, "", "wait", "--for=condition=Established", "--timeout=30s", "-f", file)
				return err
			}); err != nil {
				return err
			}
		}
	}
	return nil
}

// mountSecret makes the Secret, and plays the kubelet that mounts it. The controller serves the other certificate, below TMPDIR.
func (cp *ControlPlane) mountSecret(ctx context.Context, o operator, name string) error {
	if err := cp.EnsureNamespace(ctx, o.secretNamespace); err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: o.secret}}
	_, err := cp.Client.CoreV1().Secrets(o.secretNamespace).Create(ctx, secret, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if o.mounted == "" {
		return nil
	}
	return cp.writeCertificate(name, o.mounted)
}

func (cp *ControlPlane) writeCertificate(name, folder string) error {
	if err := os.MkdirAll(folder, 0o755); err != nil {
		return err
	}
	pair, err := cp.CA.Server(name)
	if err != nil {
		return err
	}
	for from, to := range map[string]string{pair.Cert: "tls.crt", pair.Key: "tls.key", cp.CA.File: "ca.crt"} {
		bytes, err := os.ReadFile(from)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(folder, to), bytes, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// installWebhooks leads the API server to the controller's port of the loopback, because nobody routes to Services here.
func (cp *ControlPlane) installWebhooks(ctx context.Context, name, folder string, port int) error {
	text, err := cp.Kubectl(ctx, "", "kustomize", folder)
	if err != nil {
		return err
	}
	authority, err := os.ReadFile(cp.CA.File)
	if err != nil {
		return err
	}
	for decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), 4096); ; {
		var object unstructured.Unstructured
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if !strings.HasSuffix(object.GetKind(), "WebhookConfiguration") {
			continue // a Service
		}
		object.SetName("e2e-" + name + "-" + object.GetName()) // no controller knows it by that
		object.SetNamespace("")
		webhooks, _, err := unstructured.NestedSlice(object.Object, "webhooks")
		if err != nil {
			return err
		}
		for _, webhook := range webhooks {
			path, _, err := unstructured.NestedString(webhook.(map[string]any), "clientConfig", "service", "path")
			if err != nil {
				return err
			}
			webhook.(map[string]any)["clientConfig"] = map[string]any{
				"url":      fmt.Sprintf("https://127.0.0.1:%d%s", port, path),
				"caBundle": base64.StdEncoding.EncodeToString(authority),
			}
		}
		if err := unstructured.SetNestedSlice(object.Object, webhooks, "webhooks"); err != nil {
			return err
		}
		bytes, err := object.MarshalJSON()
		if err != nil {
			return err
		}
		if _, err := cp.Kubectl(ctx, string(bytes), "apply", "--server-side", "-f", "-"); err != nil {
			return err
		}
	}
}

func answersReady(ctx context.Context, port int) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/readyz", port), nil)
	if err != nil {
		return err
	}
	response, err := (&http.Client{Timeout: time.Second}).Do(request)
	if err != nil {
		return err
	}
	response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("its /readyz says %s", response.Status)
	}
	return nil
}

func listens(ctx context.Context, port int) error {
	connection, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err == nil {
		connection.Close()
	}
	return err
}
