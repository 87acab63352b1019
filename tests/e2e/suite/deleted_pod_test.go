package suite

import (
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// What a pod that never ran costs its owner when it is deleted. A pod with `handover: pin` whose node is lost can only be deleted, as its
// affinity cannot be changed any more; so pinning is no default.

// pendingTemplate: pods that no scheduler looks at.
func pendingTemplate(labels map[string]string, policy corev1.RestartPolicy) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: labels},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody", RestartPolicy: policy,
			Containers: []corev1.Container{{Name: "main", Image: "registry.k8s.io/pause:3.10"}},
		},
	}
}

// deleteOne deletes the first pod with the label once there are so many.
func (e *env) deleteOne(selector string, pods int) {
	e.t.Helper()
	var gone corev1.Pod
	e.eventually(30*time.Second, "its pods exist", func() error {
		list, err := e.list(selector)
		if err == nil && len(list) != pods {
			err = errorf("%d of %d", len(list), pods)
		}
		if err == nil {
			gone = list[0]
		}
		return err
	})
	e.must(e.Client.CoreV1().Pods(e.ns).Delete(e.ctx, gone.Name, metav1.DeleteOptions{}))
}

// oneReplaced deletes one, and waits until there are as many as before.
func (e *env) oneReplaced(selector string, pods int) {
	e.t.Helper()
	e.deleteOne(selector, pods)
	e.eventually(60*time.Second, "the pod is replaced", func() error {
		list, err := e.list(selector)
		if err != nil {
			return err
		}
		live := 0
		for _, pod := range list {
			if pod.DeletionTimestamp == nil {
				live++
			}
		}
		if live != pods {
			return errorf("%d of %d are there", live, pods)
		}
		return nil
	})
}

func TestADeletedPendingPodIsAFailureOfItsJobButNotOfAReplicaSetOrStatefulSet(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	two, none := int32(2), int32(0)
	for _, replacement := range []batchv1.PodReplacementPolicy{batchv1.TerminatingOrFailed, batchv1.Failed} {
		name := "job-" + strings.ToLower(string(replacement))
		_, err := e.Client.BatchV1().Jobs(e.ns).Create(e.ctx, &batchv1.Job{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: batchv1.JobSpec{
				Parallelism: &two, Completions: &two, BackoffLimit: &none, PodReplacementPolicy: &replacement,
				Template: pendingTemplate(nil, corev1.RestartPolicyNever),
			},
		}, metav1.CreateOptions{})
		e.must(err)
		e.deleteOne("batch.kubernetes.io/job-name="+name, 2)
		e.eventually(60*time.Second, "the Job has failed", func() error {
			job, err := e.Client.BatchV1().Jobs(e.ns).Get(e.ctx, name, metav1.GetOptions{})
			if err != nil {
				return err
			}
			for _, condition := range job.Status.Conditions {
				if condition.Type == batchv1.JobFailed && condition.Reason == batchv1.JobReasonBackoffLimitExceeded {
					return nil
				}
			}
			return errorf("%d failed, %v", job.Status.Failed, job.Status.Conditions)
		})
	}
	set, stateful := map[string]string{"app": "set"}, map[string]string{"app": "stateful"}
	_, err := e.Client.AppsV1().ReplicaSets(e.ns).Create(e.ctx, &appsv1.ReplicaSet{
		ObjectMeta: metav1.ObjectMeta{Name: "set"},
		Spec: appsv1.ReplicaSetSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: set},
			Template: pendingTemplate(set, corev1.RestartPolicyAlways)},
	}, metav1.CreateOptions{})
	e.must(err)
	e.oneReplaced("app=set", 2)
	_, err = e.Client.AppsV1().StatefulSets(e.ns).Create(e.ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "stateful"},
		Spec: appsv1.StatefulSetSpec{Replicas: &two, Selector: &metav1.LabelSelector{MatchLabels: stateful},
			PodManagementPolicy: appsv1.ParallelPodManagement, Template: pendingTemplate(stateful, corev1.RestartPolicyAlways)},
	}, metav1.CreateOptions{})
	e.must(err)
	e.oneReplaced("app=stateful", 2)
}
