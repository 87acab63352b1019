// Command bench measures what starting gangs costs on a real control plane, side by side: kube-scheduler alone, with
// and without gates, native gang scheduling, and Muster. Tables go to the standard output, progress to the error output.
//
//	BENCH_SMOKE=1          50 nodes and a few gangs, in less than a minute: it works
//	BENCH_ONLY=muster,pin  these contenders: alone, gated, native, muster, pin
//	BENCH_NODES=1000       this size only
//	BENCH_ROUNDS=3         every load so often, the contenders taking turns
package main

import (
	"cmp"
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
		{5000, []load{{gangs: 250, members: 8}, {gangs: 1, members: 1024, inTurn: true}}},
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
	rounds, err := strconv.Atoi(cmp.Or(os.Getenv("BENCH_ROUNDS"), "1"))
	if err != nil || rounds < 1 {
		fmt.Fprintln(os.Stderr, "bench: BENCH_ROUNDS must be a number from 1 on")
		os.Exit(2)
	}
	failed := false
	for _, f := range fields(os.Getenv("BENCH_SMOKE") != "") {
		if only := os.Getenv("BENCH_NODES"); only != "" && only != strconv.Itoa(f.nodes) {
			continue
		}
		for _, r := range measureField(ctx, f, chosen, rounds) {
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

// measureField starts a control plane for every contender, and then lets them take turns: what else the machine does
// from minute to minute hits all alike.
func measureField(ctx context.Context, f field, chosen []contender, rounds int) []result {
	results := make([]result, len(f.loads))
	for i, l := range f.loads {
		results[i] = result{nodes: f.nodes, load: l, outcomes: map[string]outcome{}}
	}
	arenas := map[string]*arena{}
	defer func() {
		for _, a := range arenas {
			a.stop()
		}
	}()
	failed := map[string]error{}
	for _, c := range chosen {
		begin := time.Now()
		a, err := newArena(ctx, c, f.nodes)
		if err != nil {
			failed[c.key] = err
			say("%s, %d nodes: %v", c.title, f.nodes, err)
			continue
		}
		arenas[c.key] = a
		say("%s, %d nodes: ready after %s", c.title, f.nodes, time.Since(begin).Round(100*time.Millisecond))
		// Connections are opened, code is loaded.
		failed[c.key] = a.run(ctx, "warm", load{gangs: 1, members: gpusPerNode, inTurn: true, settle: smokeSettle}).err
	}
	for i, l := range f.loads {
		for round := range rounds {
			for _, c := range chosen {
				o := outcome{err: failed[c.key]}
				if o.err == nil {
					o = arenas[c.key].run(ctx, fmt.Sprintf("load%d-%d", i, round), l)
					failed[c.key] = o.err
				}
				if o.err == nil {
					say("%s, %d nodes: %s in %s", c.title, f.nodes, l, o.total().Round(time.Millisecond))
				} else {
					say("%s, %d nodes: %s: %v", c.title, f.nodes, l, o.err)
				}
				results[i].outcomes[c.key] = results[i].outcomes[c.key].and(o)
			}
		}
	}
	return results
}

func say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s  %s\n", time.Now().Format("15:04:05"), fmt.Sprintf(format, args...))
}
