package controlplane

import "context"

// What adds nodes for pods that are Unschedulable, each with its KWOK provider: nodes are objects alone.

// One size of machine: eight GPUs.
const karpenterInstances = `[{
  "name": "gpu-8x", "architecture": "amd64", "operatingSystems": ["linux"],
  "resources": {"cpu": "128", "memory": "1Ti", "pods": "110", "ephemeral-storage": "100Gi", "nvidia.com/gpu": "8"},
  "offerings": [{"Price": 1, "Available": true, "Requirements": [
    {"key": "karpenter.sh/capacity-type", "operator": "In", "values": ["on-demand"]},
    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["zone-a"]}]}]
}]
`

var karpenter = operator{
	folder: "karpenter", crds: []string{"pkg/apis/crds", "kwok/apis/crds"}, probed: true, config: karpenterInstances,
	args: []string{"--disable-leader-election", "--health-probe-port=%[1]d", "--metrics-port=%[2]d",
		"--instance-types-file-path=%[4]s"},
}

// Its provider reads templates of nodes from one ConfigMap, and which labels make a group of nodes from another.
const clusterAutoscalerProvider = `apiVersion: v1
kind: ConfigMap
metadata: {name: kwok-provider-config, namespace: kube-system}
data:
  config: |
    apiVersion: v1alpha1
    readNodesFrom: configmap
    configmap: {name: kwok-provider-templates}
    nodegroups: {fromNodeLabelKey: e2e.muster.dev/pool}
    nodes: {skipTaint: true, gpuConfig: {gpuLabelKey: nvidia.com/gpu.product, availableGPUTypes: {NVIDIA-H100-80GB-HBM3: {}}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: kwok-provider-templates, namespace: kube-system}
data:
  templates: |
    apiVersion: v1
    kind: List
    items:
    - apiVersion: v1
      kind: Node
      metadata:
        name: gpu-8x
        annotations:
          cluster-autoscaler.kwok.nodegroup/name: gpu-8x
          cluster-autoscaler.kwok.nodegroup/min-count: "0"
          cluster-autoscaler.kwok.nodegroup/max-count: "4"
          cluster-autoscaler.kwok.nodegroup/desired-count: "0"
        labels:
          e2e.muster.dev/pool: gpu-8x
          kubernetes.io/arch: amd64
          kubernetes.io/os: linux
          nvidia.com/gpu.present: "true"
          nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3
          nvidia.com/gpu.count: "8"
      status:
        capacity: {cpu: "128", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}
        allocatable: {cpu: "128", memory: 1Ti, pods: "110", nvidia.com/gpu: "8"}
        conditions: [{type: Ready, status: "True"}]
`

var clusterAutoscaler = operator{
	folder: "cluster-autoscaler", config: clusterAutoscalerProvider, applied: true,
	args: []string{"--cloud-provider=kwok", "--kubeconfig=%[5]s", "--leader-elect=false", "--namespace=kube-system",
		"--address=127.0.0.1:%[1]d", "--scan-interval=2s", "--scale-down-unneeded-time=20s", "--scale-down-delay-after-add=10s",
		"--enable-provisioning-requests"},
	env: []string{"POD_NAMESPACE=kube-system", "KWOK_PROVIDER_MODE=local"},
}

// Where build.sh puts the definition of ProvisioningRequests, which Kueue asks with as well.
func provisioningRequests() (string, error) { return Program("kueue", "config/autoscaler") }

// HasProvisioningRequests tells whether their definition is there.
func HasProvisioningRequests() bool {
	_, err := provisioningRequests()
	return err == nil
}

// InstallProvisioningRequests has the API server store them, as the module of cluster-autoscaler's API defines them.
func (cp *ControlPlane) InstallProvisioningRequests(ctx context.Context) error {
	folder, err := provisioningRequests()
	if err != nil {
		return err
	}
	return cp.installCRDs(ctx, folder, []string{"."})
}
