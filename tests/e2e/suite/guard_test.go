package suite

import (
	"strings"
	"testing"

	"muster.dev/e2e/objects"
)

// manifests/admission/guard: what others may write of Muster's, and what Muster's account may write of others'.
func TestTheGuardKeepsMustersWordsFromOthersAndOthersPodsFromMuster(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.applyForTheTest("guard")
	const somebody, muster = "--as=somebody", "--as=system:serviceaccount:muster-system:muster"
	for _, who := range []string{"somebody", "system:serviceaccount:muster-system:muster"} {
		_, err := e.Kubectl(e.ctx, "", "-n", e.ns, "create", "rolebinding", "try-"+who[len(who)-6:], "--clusterrole=admin", "--user="+who)
		e.must(err)
	}
	e.addPods(objects.Pod(e.ns, "p", 1, objects.By("nobody")))
	placed := objects.Pod(e.ns, "placed", 0, objects.By("nobody"))
	nodes := objects.Nodes(e.ns, 1, 8)
	e.addNodes(nodes...)
	placed.Spec.NodeName = nodes[0].Name
	e.addPods(placed)
	patch := func(who, kind, name, body string) error {
		how := map[bool]string{true: "strategic", false: "merge"}[kind == "pod"]
		_, err := e.Kubectl(e.ctx, "", "-n", e.ns, "patch", kind, name, who, "--type="+how, "--dry-run=server", "--patch="+body)
		return err
	}
	job := `{"apiVersion":"batch/v1","kind":"Job","metadata":{"name":"j","namespace":"` + e.ns + `"},"spec":{"suspend":true,"template":{"spec":{"restartPolicy":"Never","containers":[{"name":"c","image":"i"}]}}}}`
	_, err := e.Kubectl(e.ctx, job, "apply", "-f", "-")
	e.must(err)
	g := e.gang("g", 2, 1)
	e.add(g)
	group := "podgroups." + g.GroupResource().Group
	const record = `{"metadata":{"annotations":{"muster.dev/gang-record":"ran=1 started=2099-01-01T00:00:00Z"}}}`
	refused := func(what, words string, ask func() error) {
		e.t.Helper()
		e.eventually(30e9, what+" is refused", func() error {
			if err := ask(); err == nil || !strings.Contains(err.Error(), words) {
				return errorf("%v", err)
			}
			return nil
		})
	}
	refused("a record on a pod", "only Muster writes annotation muster.dev/gang-record", func() error { return patch(somebody, "pod", "p", record) })
	refused("a record on a PodGroup", "only Muster writes annotation", func() error { return patch(somebody, group, g.Name, record) })
	refused("a record on an owner", "only Muster writes annotation", func() error { return patch(somebody, "job", "j", record) })
	e.must(patch(somebody, "job", "j", `{"metadata":{"annotations":{"muster.dev/min-member":"2","team":"a"}}}`))

	refused("a turn at HAMi's device plugin", "only HAMi and Muster write annotation hami.io/bind-phase", func() error {
		return patch(somebody, "pod", "p", `{"metadata":{"annotations":{"hami.io/bind-phase":"allocating"}}}`)
	})
	refused("devices of HAMi's", "only HAMi and Muster write annotation hami.io/vgpu-devices-allocated", func() error {
		return patch(somebody, "pod", "p", `{"metadata":{"annotations":{"hami.io/vgpu-devices-allocated":"GPU-1,NVIDIA,1,1:;"}}}`)
	})
	e.must(patch(somebody, "pod", "p", `{"metadata":{"annotations":{"hami.io/gpu-scheduler-policy":"spread"}}}`))
	e.must(patch(muster, "pod", "p", `{"metadata":{"annotations":{"hami.io/bind-time":"1"}}}`))

	refused("another image by Muster's account", "changes no image", func() error {
		return patch(muster, "pod", "p", `{"spec":{"containers":[{"name":"main","image":"other"}]}}`)
	})
	for what, body := range map[string]string{
		"no label":           `{"metadata":{"labels":{"app":"x"}}}`,
		"no owner and no":    `{"metadata":{"finalizers":["example.com/x"]}}`,
		"no deadline, grace": `{"spec":{"activeDeadlineSeconds":10}}`,
	} {
		if err := patch(muster, "pod", "placed", body); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("Muster's account patches %s: %v", body, err)
		}
	}
	// As a webhook adds them to what Muster writes.
	e.must(patch(muster, "pod", "p", `{"metadata":{"annotations":{"muster.dev/wake":"1","team":"a"},"labels":{"team":"a"}}}`))
	e.must(patch(muster, "pod", "p", `{"metadata":{"labels":{"muster.dev/leader":"true"}}}`))
}
