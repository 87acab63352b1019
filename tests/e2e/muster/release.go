package muster

import (
	"path/filepath"

	"muster.dev/e2e/controlplane"
)

// Release is a version of Muster: its binary, and the folder of its manifests.
type Release struct{ Binary, Manifests string }

// Tested is the release that is tested.
func Tested() (Release, error) {
	binary, err := Binary()
	if err != nil {
		return Release{}, err
	}
	root, err := controlplane.Root()
	return Release{Binary: binary, Manifests: filepath.Join(root, "manifests")}, err
}

// Previous is the release before it, which tests/e2e/previous_release names and build.sh builds.
func Previous() (Release, error) {
	binary, err := controlplane.Program("previous", "muster")
	return Release{Binary: binary, Manifests: filepath.Join(filepath.Dir(binary), "manifests")}, err
}

// Policy is the file of its manifests.
func (r Release) Policy() string { return filepath.Join(r.Manifests, "base/policy.yaml") }

// Overlay is the Kustomize folder for a Kubernetes version.
func (r Release) Overlay(version string) string {
	return filepath.Join(filepath.Dir(r.Manifests), Overlay(version))
}
