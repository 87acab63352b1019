//go:build tools

// Package tools names the controllers that make the pods of training jobs and of serving groups.
package tools

import (
	_ "github.com/kubeflow/mpi-operator/cmd/mpi-operator"
	_ "github.com/kubeflow/trainer/v2/cmd/trainer-controller-manager"
	_ "github.com/kubeflow/training-operator/cmd/training-operator.v1"
	_ "github.com/project-codeflare/appwrapper/cmd"
	_ "github.com/ray-project/kuberay/ray-operator"
	_ "sigs.k8s.io/jobset"
	_ "sigs.k8s.io/lws/cmd"
)
