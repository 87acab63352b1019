// Package objects builds the Kubernetes objects of tests: nodes with GPUs, pods, and gangs in every flavour of PodGroup.
package objects

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// GPU is the resource of NVIDIA's device plugin.
const GPU corev1.ResourceName = "nvidia.com/gpu"

// Node is a node as a kubelet, NVIDIA's device plugin and GPU feature discovery describe it: eight H100, if gpus is 8.
func Node(name string, gpus int) *corev1.Node {
	amounts := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("128"),
		corev1.ResourceMemory: resource.MustParse("1Ti"),
		corev1.ResourcePods:   resource.MustParse("110"),
	}
	labels := map[string]string{
		"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
	}
	if gpus > 0 {
		amounts[GPU] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
		for key, value := range map[string]string{
			"gpu.present": "true", "gpu.product": "NVIDIA-H100-80GB-HBM3", "gpu.count": strconv.Itoa(gpus), "gpu.memory": "81559",
			"gpu.family": "hopper", "gpu.replicas": "1", "gpu.sharing-strategy": "none", "mig.capable": "true", "mig.strategy": "none",
			"gpu.compute.major": "9", "gpu.compute.minor": "0", "gpu.machine": "HGX-H100",
		} {
			labels["nvidia.com/"+key] = value
		}
	}
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	node.Status = corev1.NodeStatus{
		Capacity: amounts, Allocatable: amounts.DeepCopy(),
		Conditions: []corev1.NodeCondition{Ready(true)},
		Addresses: []corev1.NodeAddress{
			{Type: corev1.NodeInternalIP, Address: "127.0.0.1"}, {Type: corev1.NodeHostName, Address: name},
		},
		NodeInfo: corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: "amd64", KubeletVersion: "v1.34.0"},
	}
	return node
}

// Nodes are alike, named prefix-0 and on.
func Nodes(prefix string, count, gpus int) []*corev1.Node {
	var out []*corev1.Node
	for i := range count {
		out = append(out, Node(fmt.Sprintf("%s-%d", prefix, i), gpus))
	}
	return out
}

// Ready is the condition that a kubelet reports.
func Ready(ready bool) corev1.NodeCondition {
	c := corev1.NodeCondition{
		Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady",
		LastHeartbeatTime: metav1.Now(), LastTransitionTime: metav1.Now(),
	}
	if !ready {
		c.Status, c.Reason = corev1.ConditionFalse, "KubeletNotReady"
	}
	return c
}
