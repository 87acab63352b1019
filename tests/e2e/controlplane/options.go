// Package controlplane runs a real Kubernetes control plane on the loopback: etcd, kube-apiserver,
// kube-controller-manager, any number of kube-schedulers, and KWOK in the place of kubelets.
package controlplane

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sort"
	"strings"
)

// The versions that build.sh makes programs of, as folder names.
const (
	Newest = "v1.37"
	Before = "v1.36"
	Older  = "v1.34"
)

// Options say what to start.
type Options struct {
	Version string          // Newest, Before or Older
	Dir     string          // state and logs; made if absent
	Gates   map[string]bool // feature gates of every program
	// Kubelets: false leaves nodes and bound pods as the test writes them.
	Kubelets bool
	// Controllers: false leaves out kube-controller-manager; then nothing makes Jobs' pods or collects garbage.
	Controllers bool
	Detached    bool // outlives this process
	// APIServerFlags are further flags of kube-apiserver.
	APIServerFlags []string
}

// NativeGangs are the feature gates for PodGroups of Kubernetes' own.
func NativeGangs(version string) map[string]bool {
	if version == Before {
		return map[string]bool{"GenericWorkload": true, "GangScheduling": true}
	}
	return map[string]bool{"GenericWorkload": true}
}

// JobsOfGroups are the feature gates with which the Job controller makes such PodGroups, as a Job's spec.scheduling says.
func JobsOfGroups(version string) map[string]bool {
	gates := NativeGangs(version)
	gates["WorkloadWithJob"] = true
	return gates
}

// API groups that are off by default.
func runtimeConfig(o Options) string {
	switch {
	case !o.Gates["GenericWorkload"]:
		return ""
	case o.Version == Newest:
		return "scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"
	case o.Version == Before:
		return "scheduling.k8s.io/v1alpha2=true"
	}
	return ""
}

func (o Options) gateFlags() []string {
	if len(o.Gates) == 0 {
		return nil
	}
	var parts []string
	for name, on := range o.Gates {
		parts = append(parts, fmt.Sprintf("%s=%t", name, on))
	}
	sort.Strings(parts)
	return []string{"--feature-gates=" + strings.Join(parts, ",")}
}

// Root is the folder of the repository, found upwards from the working directory.
func Root() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; dir != "/"; dir = filepath.Dir(dir) {
		if _, err := os.Stat(filepath.Join(dir, "CMakePresets.json")); err == nil {
			return dir, nil
		}
	}
	return "", errors.New("not inside the repository")
}

// Program is the path of a built program.
func Program(version, name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	path := filepath.Join(root, "build/e2e/bin", version, name)
	if _, err := os.Stat(path); err != nil {
		return "", fmt.Errorf("%s %s is not built; tests/e2e/build.sh does it: %w", version, name, err)
	}
	return path, nil
}

// StateDir is an empty folder for a control plane's state and logs, which stay when the test is over. MUSTER_E2E_LANE ends its name,
// where runs of the suite go on side by side.
func StateDir(name string) (string, error) {
	root, err := Root()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(root, "build/e2e/state", name+os.Getenv("MUSTER_E2E_LANE"))
	if err := os.RemoveAll(dir); err != nil {
		return "", err
	}
	return dir, os.MkdirAll(dir, 0o755)
}
