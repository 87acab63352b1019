package muster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/process"
)

// Options say how to run muster.
type Options struct {
	Name    string // of its process, and of its pod where it has one
	Files   Files
	Policy  string  // file; empty: manifests/base/policy.yaml
	URL     string  // of the API server, or of a proxy before it; empty: the control plane's
	CA      string  // that signed URL's certificate; empty: the control plane's
	Lease   string  // empty: muster-system/muster
	Pod     string  // empty: it has no pod whose label could say that it leads
	Webhook int     // port of its webhook; 0: it has none
	Release Release // none: the one that is tested
}

// Server is one replica of muster. Its ports stay the same over restarts. One goroutine at a time.
type Server struct {
	ExtenderPort int
	MetricsURL   string
	Process      *process.Process
	spec         process.Spec
}

// Binary is the muster that is tested.
func Binary() (string, error) {
	root, err := controlplane.Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "build/release/muster")
	if chosen := os.Getenv("MUSTER_E2E_BINARY"); chosen != "" {
		path = chosen
	}
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("muster is not built (make build): %w", err)
	}
	return path, nil
}

// New prepares a replica that Start runs; its kubeconfig holds the token of Muster's service account alone.
func New(ctx context.Context, cp *controlplane.ControlPlane, o Options) (*Server, error) {
	tested, err := Tested()
	if err != nil {
		return nil, err
	}
	if o.Release.Binary == "" {
		o.Release = tested
	}
	token, err := cp.Token(ctx, Namespace, Account)
	if err != nil {
		return nil, err
	}
	fill(&o.Name, "muster")
	fill(&o.Policy, o.Release.Policy())
	fill(&o.URL, cp.URL)
	fill(&o.CA, cp.CA.File)
	fill(&o.Lease, Namespace+"/muster")
	kubeconfig, err := cp.WriteKubeconfigFor(o.Name+".kubeconfig", o.URL, o.CA, token)
	if err != nil {
		return nil, err
	}
	metrics := process.MustFreePort()
	s := &Server{ExtenderPort: process.MustFreePort(), MetricsURL: fmt.Sprintf("http://127.0.0.1:%d", metrics)}
	s.spec = process.Spec{Name: o.Name, Path: o.Release.Binary, Dir: cp.LogDir(), Detached: cp.Options.Detached, Args: []string{
		"serve", "--kubeconfig=" + kubeconfig, "--policy=" + o.Policy, "--lease=" + o.Lease,
		fmt.Sprintf("--listen=127.0.0.1:%d", s.ExtenderPort), fmt.Sprintf("--metrics=127.0.0.1:%d", metrics),
		"--tls-cert=" + filepath.Join(o.Files.Server, "tls.crt"), "--tls-key=" + filepath.Join(o.Files.Server, "tls.key"),
		"--tls-client-ca=" + filepath.Join(o.Files.Server, "ca.crt"), "--tls-client=muster-scheduler",
	}}
	if o.Release == tested { // another one may have other words for it
		s.spec.Args = append(s.spec.Args, "--log-level=debug")
	}
	if o.Webhook != 0 {
		s.spec.Args = append(s.spec.Args, fmt.Sprintf("--webhook=127.0.0.1:%d", o.Webhook))
	}
	if o.Pod != "" {
		s.spec.Env = []string{"POD_NAME=" + o.Pod, "POD_NAMESPACE=" + Namespace}
	}
	return s, nil
}

func fill(field *string, value string) {
	if *field == "" {
		*field = value
	}
}

// Start runs it and does not wait.
func (s *Server) Start() error {
	var err error
	s.Process, err = process.Start(s.spec)
	return err
}

// WaitReady returns once /readyz says yes.
func (s *Server) WaitReady(ctx context.Context) error {
	var last error
	for {
		if _, last = s.get("/readyz"); last == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("muster is not ready: %w (log: %s)", last, s.spec.LogFile())
		case <-s.Process.Done():
			return errors.Join(fmt.Errorf("muster has ended (log: %s)", s.spec.LogFile()), s.Process.Ended())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// Restart runs it again after its end and waits until it is ready.
func (s *Server) Restart(ctx context.Context) error {
	<-s.Process.Done()
	if err := s.Start(); err != nil {
		return err
	}
	return s.WaitReady(ctx)
}

// LogFile is where its log goes.
func (s *Server) LogFile() string { return s.spec.LogFile() }

var client = &http.Client{Timeout: 5 * time.Second}

func (s *Server) get(path string) (string, error) {
	response, err := client.Get(s.MetricsURL + path)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err == nil && response.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", path, response.Status, strings.TrimSpace(string(body)))
	}
	return string(body), err
}

// PolicyPath is the policy of the manifests.
func PolicyPath() (string, error) {
	root, err := controlplane.Root()
	return filepath.Join(root, "manifests/base/policy.yaml"), err
}

// Policy is the policy in force, as YAML.
func (s *Server) Policy() (string, error) { return s.get("/v1/policy") }

// Metric is the sum of a metric's samples whose labels contain every one of these texts, such as `verb="filter"`.
func (s *Server) Metric(name string, labels ...string) (float64, error) {
	page, err := s.get("/metrics")
	if err != nil {
		return 0, err
	}
	sum := 0.0
	for _, line := range strings.Split(page, "\n") {
		rest, ok := strings.CutPrefix(line, name)
		if !ok || rest == "" || (rest[0] != '{' && rest[0] != ' ') || !containsAll(rest, labels) {
			continue
		}
		value, err := strconv.ParseFloat(rest[strings.LastIndexByte(rest, ' ')+1:], 64)
		if err != nil {
			return 0, err
		}
		sum += value
	}
	return sum, nil
}

func containsAll(text string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(text, part) {
			return false
		}
	}
	return true
}

// Gang is what /v1/gangs/NAMESPACE/NAME says.
type Gang struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Kind      string `json:"kind"` // Pod: of a pod that is in no gang
	State     string `json:"state"`
	MinMember int    `json:"minMember"`
	Priority  int    `json:"priority"` // that counts
	Pods      int    `json:"pods"`
	Bound     int    `json:"bound"`
	Failed    int    `json:"failed"`
	ScaleUp   string `json:"scaleUp"` // whether nodes are asked for
	Reason    struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"reason"`
}

// Gang asks why a gang waits.
func (s *Server) Gang(namespace, name string) (Gang, error) {
	var gang Gang
	text, err := s.get("/v1/gangs/" + namespace + "/" + name)
	if err != nil {
		return gang, err
	}
	return gang, json.Unmarshal([]byte(text), &gang)
}

// Gangs are all that Muster knows.
func (s *Server) Gangs() ([]Gang, error) {
	var page struct {
		Gangs []Gang `json:"gangs"`
	}
	text, err := s.get("/v1/gangs")
	if err != nil {
		return nil, err
	}
	err = json.Unmarshal([]byte(text), &page)
	return page.Gangs, err
}

// Links are what Muster knows of the links between a node's GPUs.
type Links struct {
	Source string `json:"source"`
}

// NodeLinks asks where the links of a node come from.
func (s *Server) NodeLinks(node string) (Links, error) {
	var links Links
	text, err := s.get("/v1/nodes/" + node + "/topology")
	if err != nil {
		return links, err
	}
	return links, json.Unmarshal([]byte(text), &links)
}
