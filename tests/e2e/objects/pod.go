package objects

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Who schedules a pod.
const (
	Muster  = "muster"
	Default = "default-scheduler"
)

// KubeletLabel says how the played kubelet treats a pod (kwok/stages.yaml): manual or lingers.
const KubeletLabel = "e2e.muster.dev/kubelet"

// PodOption changes a pod that is being built.
type PodOption func(*corev1.Pod)

// Pod asks for GPUs through Muster, one CPU and 1 GiB of memory.
func Pod(namespace, name string, gpus int, options ...PodOption) *corev1.Pod {
	requests := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("1"), corev1.ResourceMemory: resource.MustParse("1Gi"),
	}
	limits := corev1.ResourceList{}
	if gpus > 0 {
		limits[GPU] = *resource.NewQuantity(int64(gpus), resource.DecimalSI)
		requests[GPU] = limits[GPU]
	}
	grace := int64(0)
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: name, Labels: map[string]string{}, Annotations: map[string]string{},
		},
		Spec: corev1.PodSpec{
			SchedulerName: Muster, RestartPolicy: corev1.RestartPolicyNever, TerminationGracePeriodSeconds: &grace,
			Containers: []corev1.Container{{
				Name: "main", Image: "image", Resources: corev1.ResourceRequirements{Requests: requests, Limits: limits},
			}},
		},
	}
	for _, option := range options {
		option(pod)
	}
	return pod
}

// By chooses the scheduler.
func By(scheduler string) PodOption {
	return func(pod *corev1.Pod) { pod.Spec.SchedulerName = scheduler }
}

// Labelled sets a label.
func Labelled(key, value string) PodOption {
	return func(pod *corev1.Pod) { pod.Labels[key] = value }
}

// Annotated sets an annotation.
func Annotated(key, value string) PodOption {
	return func(pod *corev1.Pod) { pod.Annotations[key] = value }
}

// OnNodesWith restricts the pod to nodes with a label.
func OnNodesWith(key, value string) PodOption {
	return func(pod *corev1.Pod) {
		if pod.Spec.NodeSelector == nil {
			pod.Spec.NodeSelector = map[string]string{}
		}
		pod.Spec.NodeSelector[key] = value
	}
}

// Tolerating lets the pod onto nodes with a taint.
func Tolerating(key, value string) PodOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Tolerations = append(pod.Spec.Tolerations, corev1.Toleration{
			Key: key, Operator: corev1.TolerationOpEqual, Value: value, Effect: corev1.TaintEffectNoSchedule,
		})
	}
}

// Requesting sets what the pod asks for of another resource.
func Requesting(name corev1.ResourceName, amount string) PodOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests[name] = resource.MustParse(amount)
	}
}

// RequestingDevices sets what the pod asks for of a device plugin's resource.
func RequestingDevices(name corev1.ResourceName, amount string) PodOption {
	return func(pod *corev1.Pod) {
		Requesting(name, amount)(pod)
		pod.Spec.Containers[0].Resources.Limits[name] = resource.MustParse(amount)
	}
}

// WithGate adds a scheduling gate of somebody else.
func WithGate(name string) PodOption {
	return func(pod *corev1.Pod) {
		pod.Spec.SchedulingGates = append(pod.Spec.SchedulingGates, corev1.PodSchedulingGate{Name: name})
	}
}

// WithPriorityClass gives the pod a priority by its class.
func WithPriorityClass(name string) PodOption {
	return func(pod *corev1.Pod) { pod.Spec.PriorityClassName = name }
}

// WithNodeSelector lets the pod run only where nodes have this label.
func WithNodeSelector(key, value string) PodOption {
	return func(pod *corev1.Pod) { pod.Spec.NodeSelector = map[string]string{key: value} }
}

// WithClaim mounts a volume claim.
func WithClaim(claim string) PodOption {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}})
		pod.Spec.Containers[0].VolumeMounts = append(pod.Spec.Containers[0].VolumeMounts,
			corev1.VolumeMount{Name: "data", MountPath: "/data"})
	}
}

// WithResourceClaim has a device allocated to the pod through the ResourceClaim.
func WithResourceClaim(claim string) PodOption {
	return func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims, corev1.PodResourceClaim{Name: claim, ResourceClaimName: &claim})
		resources := &pod.Spec.Containers[0].Resources
		resources.Claims = append(resources.Claims, corev1.ResourceClaim{Name: claim})
	}
}

// WithClaimOf has a ResourceClaim made of the template for the pod.
func WithClaimOf(template string) PodOption {
	return func(pod *corev1.Pod) {
		pod.Spec.ResourceClaims = append(pod.Spec.ResourceClaims,
			corev1.PodResourceClaim{Name: template, ResourceClaimTemplateName: &template})
		resources := &pod.Spec.Containers[0].Resources
		resources.Claims = append(resources.Claims, corev1.ResourceClaim{Name: template})
	}
}

// Lingering pods stay deleted-but-there until the label is taken away, as if they took long to end.
func Lingering(pod *corev1.Pod) {
	grace := int64(300)
	pod.Spec.TerminationGracePeriodSeconds = &grace
	pod.Labels[KubeletLabel] = "lingers"
}

// Gated puts Muster's gate on the pod, where no admission policy does.
func Gated(pod *corev1.Pod) {
	for _, gate := range pod.Spec.SchedulingGates {
		if gate.Name == gangGate {
			return
		}
	}
	WithGate(gangGate)(pod)
}

const gangGate = "muster.dev/gang"
