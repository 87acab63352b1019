// Command cluster starts a control plane with Muster in it and leaves it up, or ends it: cluster up, cluster down.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/controlplane"
	"muster.dev/e2e/muster"
	"muster.dev/e2e/objects"
	"muster.dev/e2e/process"
)

const (
	startTimeout = 2 * time.Minute
	stopGrace    = 10 * time.Second
	nodes        = 16
	gpus         = 8
)

func main() {
	if len(os.Args) != 2 {
		fail(fmt.Errorf("usage: cluster up|down"))
	}
	root, err := controlplane.Root()
	fail(err)
	dir := filepath.Join(root, "build/e2e/cluster")
	switch os.Args[1] {
	case "up":
		fail(up(root, dir))
	case "down":
		stopped, err := process.StopRecorded(dir, stopGrace)
		fail(err)
		if len(stopped) == 0 {
			fmt.Println("no cluster is up")
			return
		}
		fmt.Println("ended:", strings.Join(stopped, ", "))
	default:
		fail(fmt.Errorf("usage: cluster up|down"))
	}
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "cluster:", err)
		os.Exit(1)
	}
}

func up(root, dir string) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	if err != nil {
		return err
	}
	if len(files) > 0 {
		fmt.Println("a cluster is up already, or was not ended; make cluster-down ends it")
		introduce(root, dir)
		return nil
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	begin := time.Now()
	say := func(what string) { fmt.Printf("%5.1f s  %s\n", time.Since(begin).Seconds(), what) }
	err = start(dir, say)
	if err != nil {
		_, _ = process.StopRecorded(dir, stopGrace) // what did start
		return fmt.Errorf("%w\nlogs: %s", err, dir)
	}
	introduce(root, dir)
	return nil
}

func start(dir string, say func(string)) error {
	ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
	defer cancel()
	cp, err := controlplane.Start(ctx, controlplane.Options{
		Version: controlplane.Newest, Dir: dir, Kubelets: true, Controllers: true, Detached: true,
	})
	if err != nil {
		return err
	}
	say("etcd, kube-apiserver, kube-controller-manager, KWOK")
	files, err := muster.Install(ctx, cp)
	if err != nil {
		return err
	}
	say("kubectl apply -k " + muster.Overlay(controlplane.Newest))
	for _, node := range objects.Nodes("node", nodes, gpus) {
		if _, err := cp.Client.CoreV1().Nodes().Create(ctx, node, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	say(fmt.Sprintf("%d nodes of %d GPUs", nodes, gpus))
	server, err := muster.New(ctx, cp, muster.Options{Files: files})
	if err != nil {
		return err
	}
	if err := server.Start(); err != nil {
		return err
	}
	if err := server.WaitReady(ctx); err != nil {
		return err
	}
	say("muster")
	config, err := muster.SchedulerConfig(files, server.ExtenderPort)
	if err != nil {
		return err
	}
	token, err := cp.Token(ctx, muster.Namespace, muster.SchedulerAccount)
	if err != nil {
		return err
	}
	for _, scheduler := range []controlplane.Scheduler{
		{Name: "muster-scheduler", Config: config, Token: token},
		{Name: "default-scheduler", Config: controlplane.DefaultScheduler},
	} {
		if _, err := cp.StartScheduler(ctx, scheduler); err != nil {
			return err
		}
	}
	say("kube-scheduler twice: schedulerName muster and default-scheduler")
	address := server.MetricsURL
	return os.WriteFile(filepath.Join(dir, "muster.address"), []byte(address), 0o644)
}

func introduce(root, dir string) {
	kubectl := filepath.Join(root, "build/e2e/bin", controlplane.Newest, "kubectl")
	address, err := os.ReadFile(filepath.Join(dir, "muster.address"))
	fail(err)
	fmt.Printf(`
The control plane is real; nodes and kubelets are played, so no image runs. For the same reason the manifests'
Deployments are scaled to 0: muster and its kube-scheduler run as processes beside the API server, with the tokens and
the certificates that their pods would have.

export KUBECONFIG=%[2]s/admin.kubeconfig
%[1]s get nodes -L nvidia.com/gpu.product,nvidia.com/gpu.count
%[1]s apply -f %[3]s/manifests/samples/team.yaml
%[1]s -n team-a get podgroups.scheduling.x-k8s.io,pods -o wide

Why a gang waits:  %[3]s/build/release/muster get gangs --server %[4]s
Logs:              %[2]s/*.log
The end:           make cluster-down
`, kubectl, dir, root, address)
}
