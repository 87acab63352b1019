// Command bench measures what starting gangs costs on a real control plane, side by side: kube-scheduler alone, with
// and without gates, native gang scheduling, and Muster. Tables go to the standard output, progress to the error output.
//
//	BENCH_SMOKE=1          50 nodes and a few gangs, in less than a minute: it works
//	BENCH_ONLY=muster,pin  these contenders: alone, gated, native, muster, pin
//	BENCH_NODES=1000       this size only
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// field is a cluster's size and what is loaded onto it, one load after the other.
type field struct {
	nodes int
	loads []load
}

func fields(smoke bool) []field {
	if smoke {
		return []field{{50, []load{
			{gangs: 5, members: 8, settle: smokeSettle}, {gangs: 2, members: 32, inTurn: true, settle: smokeSettle},
		}}}
	}
	return []field{
		{1000, []load{{gangs: 250, members: 8}, {gangs: 5, members: 256, inTurn: true}}},
		{5000, []load{{gangs: 250, members: 8}, {gangs: 3, members: 1024, inTurn: true}}},
	}
}

// result is what all contenders made of one load.
type result struct {
	nodes    int
	load     load
	outcomes map[string]outcome // by contender
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer cancel()
	chosen, err := choose(os.Getenv("BENCH_ONLY"))
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(2)
	}
	failed := false
	for _, f := range fields(os.Getenv("BENCH_SMOKE") != "") {
		if only := os.Getenv("BENCH_NODES"); only != "" && only != strconv.Itoa(f.nodes) {
			continue
		}
		for _, r := range measureField(ctx, f, chosen) {
			failed = report(os.Stdout, chosen, r) || failed
		}
	}
	if failed || ctx.Err() != nil {
		os.Exit(1)
	}
}

func choose(only string) ([]contender, error) {
	all := contenders()
	if only == "" {
		return all, nil
	}
	var out []contender
	for _, key := range strings.Split(only, ",") {
		i := slices.IndexFunc(all, func(c contender) bool { return c.key == key })
		if i < 0 {
			return nil, fmt.Errorf("no contender is called %q", key)
		}
		out = append(out, all[i])
	}
	return out, nil
}

func measureField(ctx context.Context, f field, chosen []contender) []result {
	results := make([]result, len(f.loads))
	for i, l := range f.loads {
		results[i] = result{nodes: f.nodes, load: l, outcomes: map[string]outcome{}}
	}
	for _, c := range chosen {
		for i, o := range measureContender(ctx, f, c) {
			results[i].outcomes[c.key] = o
		}
	}
	return results
}

// measureContender gives it a control plane of its own.
func measureContender(ctx context.Context, f field, c contender) []outcome {
	out := make([]outcome, len(f.loads))
	fail := func(from int, err error) []outcome {
		for i := from; i < len(out); i++ {
			out[i].err = err
		}
		say("%s, %d nodes: %v", c.title, f.nodes, err)
		return out
	}
	begin := time.Now()
	a, err := newArena(ctx, c, f.nodes)
	if err != nil {
		return fail(0, err)
	}
	defer a.stop()
	say("%s, %d nodes: ready after %s", c.title, f.nodes, time.Since(begin).Round(100*time.Millisecond))
	// Connections are opened, code is loaded.
	if o := a.run(ctx, "warm", load{gangs: 1, members: gpusPerNode, inTurn: true, settle: smokeSettle}); o.err != nil {
		return fail(0, o.err)
	}
	for i, l := range f.loads {
		if out[i] = a.run(ctx, "load"+strconv.Itoa(i), l); out[i].err != nil {
			return fail(i, out[i].err)
		}
		say("%s, %d nodes: %s in %s", c.title, f.nodes, l, out[i].took.Round(time.Millisecond))
	}
	return out
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
