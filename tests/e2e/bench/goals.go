package main

import (
	"fmt"
	"time"
)

const (
	schedulerGoal = 0.6 // of kube-scheduler's processor time when it is alone
	largeCluster  = 5000
)

// How soon a gang of so many members is bound, on so many nodes.
var startGoals = []struct {
	nodes, members int
	within         time.Duration
}{
	{1000, 256, 600 * time.Millisecond},
	{5000, 1024, 3 * time.Second},
}

// goals says how far each goal for this load is met.
func goals(r result) []string {
	muster, ok := r.good(musterKey)
	if !ok {
		return nil
	}
	var out []string
	if r.load.inTurn {
		for _, g := range startGoals {
			if g.nodes == r.nodes && g.members == r.load.members {
				got := quantile(muster.started, 0.5).Seconds()
				out = append(out, atMost(fmt.Sprintf("complete → all bound < %.1f s", g.within.Seconds()), got, g.within.Seconds(), "s"))
			}
		}
		return out
	}
	if alone, ok := r.good(aloneKey); ok && r.nodes >= largeCluster {
		got := muster.spent.perPod(schedulerPart, muster.rounds) / alone.spent.perPod(schedulerPart, alone.rounds)
		out = append(out, atMost("kube-scheduler's CPU per pod ≤ 0.6 of what it is alone", got, schedulerGoal, "times"))
	}
	if gated, ok := r.good(gatedKey); ok {
		out = append(out, atLeast("pods/s ≥ kube-scheduler with gates", muster.rate(r.load), gated.rate(r.load)))
	}
	if native, ok := r.good(nativeKey); ok && r.nodes >= largeCluster {
		out = append(out, atLeast("pods/s ≥ native gangs", muster.rate(r.load), native.rate(r.load)))
	}
	return out
}

func (r result) good(key string) (outcome, bool) {
	o, measured := r.outcomes[key]
	return o, measured && o.err == nil
}

func atMost(goal string, got, most float64, unit string) string {
	if got <= most {
		return fmt.Sprintf("%s: met, %.2f %s", goal, got, unit)
	}
	return fmt.Sprintf("%s: MISSED by %.0f %%, %.2f %s", goal, 100*(got/most-1), got, unit)
}

func atLeast(goal string, got, least float64) string {
	if got >= least {
		return fmt.Sprintf("%s: met, %.2f times", goal, got/least)
	}
	return fmt.Sprintf("%s: MISSED by %.0f %%, %.0f of %.0f", goal, 100*(1-got/least), got, least)
}
