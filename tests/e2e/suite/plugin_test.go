package suite

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
)

// outsideAddress is an address of this machine that a pod could have: the API server calls no loopback of a Service.
func outsideAddress(t *testing.T) string {
	t.Helper()
	addresses, err := net.InterfaceAddrs()
	if err != nil {
		t.Fatal(err)
	}
	for _, address := range addresses {
		if ip, ok := address.(*net.IPNet); ok && ip.IP.To4() != nil && ip.IP.IsGlobalUnicast() {
			return ip.IP.String()
		}
	}
	t.Skip("this machine has no address but the loopback, and a Service needs another")
	return ""
}

// leadAPI gives Service muster-api of the manifests a pod that says that it leads, on this node; at its address is the
// muster of the test.
func (e *env) leadAPI(node string) {
	e.t.Helper()
	host := outsideAddress(e.t)
	service, err := muster.NewServiceAt(host)
	e.must(err)
	e.t.Cleanup(service.Close)
	service.Lead(strings.TrimPrefix(e.muster.MetricsURL, "http://"))

	pod := replicaPod("muster-of-" + e.ns)
	pod.Labels["muster.dev/leader"], pod.Labels["e2e.muster.dev/kubelet"] = "true", "manual"
	pod.Spec.NodeName = node
	pod.Spec.Containers[0].Ports = []corev1.ContainerPort{{Name: "metrics", ContainerPort: int32(service.Port)}}
	pods := e.Client.CoreV1().Pods(muster.Namespace)
	_, err = pods.Create(e.ctx, pod, metav1.CreateOptions{})
	e.must(err)
	e.t.Cleanup(func() {
		_ = pods.Delete(context.Background(), pod.Name, metav1.DeleteOptions{GracePeriodSeconds: new(int64)})
	})
	status := fmt.Sprintf(`{"status":{"phase":"Running","podIP":%q,"podIPs":[{"ip":%q}],
		"conditions":[{"type":"Ready","status":"True"}]}}`, host, host)
	_, err = pods.Patch(e.ctx, pod.Name, types.MergePatchType, []byte(status), metav1.PatchOptions{}, "status")
	e.must(err)
}

// person has a kubeconfig with a token of an account, and kubectl with Muster's plugin.
type person struct {
	e          *env
	name       string // of the account, in the namespace of the test
	kubeconfig string
	folder     string // with kubectl-muster
}

func (e *env) person(name string) person {
	e.t.Helper()
	kubeconfig, err := e.WriteKubeconfig(e.ns+"-"+name+".kubeconfig", e.account(name))
	e.must(err)
	text, err := os.ReadFile(kubeconfig)
	e.must(err)
	own := strings.Replace(string(text), "user: e2e}", fmt.Sprintf("user: e2e, namespace: %s}", e.ns), 1)
	e.must(os.WriteFile(kubeconfig, []byte(own), 0o600))
	binary, err := muster.Binary()
	e.must(err)
	folder := e.t.TempDir()
	e.must(os.Symlink(binary, filepath.Join(folder, "kubectl-muster")))
	return person{e, name, kubeconfig, folder}
}

// muster runs `kubectl muster`; all that it prints.
func (p person) muster(args ...string) (string, error) {
	p.e.t.Helper()
	kubectl, err := controlplane.Program(p.e.Options.Version, "kubectl")
	p.e.must(err)
	cmd := exec.CommandContext(p.e.ctx, kubectl, append([]string{"muster"}, args...)...)
	cmd.Env = append(os.Environ(), "KUBECONFIG="+p.kubeconfig, "PATH="+p.folder+":"+os.Getenv("PATH"))
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err = cmd.Run()
	return out.String(), err
}

// told fails unless the command does what is wanted and prints these words, and not the others.
func (p person) told(works bool, words, never string, args ...string) {
	p.e.t.Helper()
	var last string
	p.e.eventually(30*time.Second, "kubectl muster "+strings.Join(args, " "), func() error {
		out, err := p.muster(args...)
		last = out
		if (err == nil) != works || !strings.Contains(out, words) {
			return errorf("%v: %s", err, out)
		}
		return nil
	})
	if never != "" && strings.Contains(last, never) {
		p.e.t.Fatalf("%s sees %q:\n%s", p.name, never, last)
	}
}

// bind gives the person a Role of Muster's namespace until the test ends.
func (p person) bind(role string) {
	p.e.t.Helper()
	name := p.e.ns + "-" + p.name + "-" + role
	_, err := p.e.Kubectl(p.e.ctx, "", "-n", muster.Namespace, "create", "rolebinding", name, "--role="+role,
		"--serviceaccount="+p.e.ns+":"+p.name)
	p.e.must(err)
	p.e.t.Cleanup(func() {
		if _, err := p.e.Kubectl(context.Background(), "", "-n", muster.Namespace, "delete", "rolebinding", name); err != nil {
			p.e.t.Errorf("%v", err)
		}
	})
}

// bindTeam applies the sample for teams to the test's namespace: all its accounts may take the token.
func (e *env) bindTeam() {
	e.t.Helper()
	root, err := controlplane.Root()
	e.must(err)
	text, err := os.ReadFile(filepath.Join(root, "manifests/samples/team-oncall.yaml"))
	e.must(err)
	manifests := strings.NewReplacer("kind: Group\n  name: team-a", "kind: Group\n  name: system:serviceaccounts:"+e.ns,
		"namespace: team-a", "namespace: "+e.ns, "muster-api-team-a", "muster-api-"+e.ns).Replace(string(text))
	_, err = e.Kubectl(e.ctx, manifests, "apply", "-f", "-")
	e.must(err)
	e.t.Cleanup(func() {
		if _, err := e.Kubectl(context.Background(), manifests, "delete", "--ignore-not-found", "-f", "-"); err != nil {
			e.t.Errorf("%v", err)
		}
	})
}

func TestKubectlMusterShowsWhatTheTokenOfItsServiceAccountMaySee(t *testing.T) {
	w := mustered(t, worldOptions{})
	e, other := in(t, w), in(t, w)
	nodes := objects.Nodes(e.ns, 1, 8)
	e.addNodes(nodes...)
	e.leadAPI(nodes[0].Name)
	train, theirs := e.gang("train", 4, 8), other.gang("theirs", 4, 8)
	e.add(train)
	other.add(theirs)
	e.waits(30*time.Second, train, "NeverFits")

	// On call, in another namespace: step by step to what manifests/oncall gives.
	ann := other.person("ann")
	ann.told(false, `services "http:muster-api:api" is forbidden`, "train", "get", "gangs", "-A")
	ann.bind("muster-api")
	ann.told(false, "the request to list gangs.muster.dev does not say who sends it", "train", "get", "gangs", "-A")
	ann.bind("muster-oncall")
	ann.told(true, "train", "", "get", "gangs", "-A")
	ann.told(true, "theirs", "train", "get", "gangs")
	ann.told(true, "NeverFits", "", "explain", "gang", train.Key())
	ann.told(true, "\"nodes\"", "", "get", "nodes", "-o", "json")
	ann.told(false, "may not update queues/state.muster.dev", "", "queue", "hold", "research")

	// Of a team: its own gangs.
	bob := e.person("bob")
	e.bindTeam()
	bob.told(true, "train", "theirs", "get", "gangs", "-A")
	bob.told(true, "NeverFits", "", "explain", "gang", "train")
	bob.told(false, "may not get gangs.muster.dev", "", "explain", "gang", theirs.Key())
	bob.told(false, "may not list nodes.muster.dev", "", "get", "nodes")

	// A token for the API server is not shown to Muster.
	ann.told(false, "only a token for Muster alone is sent", "", "get", "gangs", "-A",
		"--token-file", tokenFile(other))
}

// tokenFile holds a token for the API server.
func tokenFile(e *env) string {
	e.t.Helper()
	file := filepath.Join(e.t.TempDir(), "token")
	e.must(os.WriteFile(file, []byte(e.account("carol")), 0o600))
	return file
}
