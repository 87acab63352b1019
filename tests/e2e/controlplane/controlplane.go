package controlplane

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"muster.dev/e2e/certs"
	"muster.dev/e2e/process"
)

const (
	readyTimeout = 60 * time.Second
	stopGrace    = 15 * time.Second
)

// ControlPlane is a running one. Start and Stop belong to one goroutine; clients may be used by any.
type ControlPlane struct {
	Options    Options
	URL        string // of the API server
	CA         *certs.Authority
	Client     kubernetes.Interface // as an administrator
	Dynamic    dynamic.Interface
	Kubeconfig string // an administrator's
	AuditLog   string

	etcd, apiserver, controllers, kubelets *process.Process
	kueue                                  *process.Process
	operators                              []*process.Process
	schedulers                             []*process.Process
	tokens                                 map[string]string // by user name
	etcdURL                                string
	apiserverArgs                          []string
}

// Start brings everything up but schedulers, and returns once the API server and the controllers are at work.
func Start(ctx context.Context, o Options) (*ControlPlane, error) {
	cp := &ControlPlane{Options: o, tokens: map[string]string{}, AuditLog: filepath.Join(o.Dir, "audit.log")}
	if err := os.MkdirAll(o.Dir, 0o755); err != nil {
		return nil, err
	}
	for _, step := range []func(context.Context) error{
		cp.writeSecrets, cp.startEtcd, cp.prepareAPIServer, cp.startAPIServer, cp.startControllers, cp.startKubelets,
	} {
		if err := step(ctx); err != nil {
			cp.Stop()
			return nil, err
		}
	}
	return cp, nil
}

// Stop ends everything, what depends on others first.
func (cp *ControlPlane) Stop() {
	for _, p := range append(append(cp.operators, cp.schedulers...), cp.kueue, cp.kubelets, cp.controllers, cp.apiserver) {
		if p != nil {
			p.Stop(stopGrace)
		}
	}
	if cp.etcd != nil {
		cp.etcd.Kill() // its data is not kept
	}
}

// writeSecrets makes the CA, the key for service account tokens, and the tokens of administrators and programs.
func (cp *ControlPlane) writeSecrets(context.Context) error {
	var err error
	if cp.CA, err = certs.NewAuthority(cp.Options.Dir, "ca"); err != nil {
		return err
	}
	if err := certs.SigningKey(cp.file("service-accounts.key")); err != nil {
		return err
	}
	users := []struct{ name, groups string }{
		{"e2e-admin", "system:masters"},
		{"e2e-kubelet", "system:masters"},
		{operatorUser, "system:masters"},
		{"system:kube-controller-manager", ""},
		{"system:kube-scheduler", ""},
	}
	var lines []byte
	for i, user := range users {
		token := randomToken()
		cp.tokens[user.name] = token
		lines = fmt.Appendf(lines, "%s,%s,%d", token, user.name, i)
		if user.groups != "" {
			lines = fmt.Appendf(lines, ",%q", user.groups)
		}
		lines = append(lines, '\n')
	}
	return os.WriteFile(cp.file("tokens.csv"), lines, 0o600)
}

func randomToken() string {
	var bytes [16]byte
	if _, err := rand.Read(bytes[:]); err != nil {
		panic(err)
	}
	return hex.EncodeToString(bytes[:])
}

func (cp *ControlPlane) file(name string) string { return filepath.Join(cp.Options.Dir, name) }

// LogDir is where every program's log lies.
func (cp *ControlPlane) LogDir() string { return cp.Options.Dir }

// Config is an administrator's client configuration, without a limit on its rate.
func (cp *ControlPlane) Config() *rest.Config {
	return &rest.Config{
		Host:            cp.URL,
		BearerToken:     cp.tokens["e2e-admin"],
		TLSClientConfig: rest.TLSClientConfig{CAFile: cp.CA.File},
		QPS:             -1,
	}
}

// Run starts a program of this control plane's version, or KWOK.
func (cp *ControlPlane) run(name, program string, args ...string) (*process.Process, error) {
	version := cp.Options.Version
	if program == "kwok" {
		version = "kwok"
	}
	path, err := Program(version, program)
	if err != nil {
		return nil, err
	}
	return process.Start(process.Spec{
		Name: name, Path: path, Args: args, Dir: cp.Options.Dir, Detached: cp.Options.Detached,
	})
}

// waitFor polls until done, and gives up early when the program has ended.
func waitFor(ctx context.Context, p *process.Process, done func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	for {
		err := done(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (log: %s)", p.Spec.Name, err, p.Spec.LogFile())
		case <-p.Done():
			return errors.Join(fmt.Errorf("%s has ended (log: %s)", p.Spec.Name, p.Spec.LogFile()), p.Ended())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// EnsureNamespace makes a namespace with its default service account, without which no pod gets in.
func (cp *ControlPlane) EnsureNamespace(ctx context.Context, name string) error {
	_, err := cp.Client.CoreV1().Namespaces().Create(ctx, namespace(name), metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return err
	}
	if !cp.Options.Controllers {
		_, err := cp.Client.CoreV1().ServiceAccounts(name).Create(ctx, serviceAccount(), metav1.CreateOptions{})
		if apierrors.IsAlreadyExists(err) {
			err = nil
		}
		return err
	}
	return poll(ctx, func() error {
		_, err := cp.Client.CoreV1().ServiceAccounts(name).Get(ctx, "default", metav1.GetOptions{})
		return err
	})
}

func poll(ctx context.Context, done func() error) error {
	for {
		err := done()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(50 * time.Millisecond):
		}
	}
}
