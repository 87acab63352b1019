package main

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"muster.dev/e2e/audit"
)

// report prints what was measured, and tells whether a contender failed.
func report(out io.Writer, chosen []contender, r result) bool {
	failed := false
	fmt.Fprintf(out, "\n%d nodes, %s\n\n", r.nodes, r.load)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\tpods/s\tcomplete → all bound\tfirst → last bound\tCPU ms/pod: scheduler\tmuster\tAPI server\tetcd\tload\tall\twrites/pod\tothers\t\n")
	for _, c := range chosen {
		o := r.outcomes[c.key]
		if o.err != nil {
			failed = true
			fmt.Fprintf(table, "%s\tfailed\t\t\t\t\t\t\t\t\t\t\t\n", c.title)
			continue
		}
		pods := r.load.pods() * o.rounds
		started := seconds(o.started)
		if c.release && !r.load.inTurn {
			started = "-" // its gates go when all gangs are there
		}
		fmt.Fprintf(table, "%s\t%.0f\t%s\t%s\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t%.2f\t\n", c.title, o.rate(r.load),
			started, seconds(o.spread), o.spent.perPod(schedulerPart, pods), o.spent.perPod(musterPart, pods),
			o.spent.perPod(apiServerPart, pods), o.spent.perPod(etcdPart, pods), o.spent.perPod(benchPart, pods),
			o.spent.all(pods), float64(o.writes())/float64(pods), o.spent.others())
	}
	table.Flush()
	reportWrites(out, chosen, r)
	reportStages(out, chosen, r)
	for _, line := range goals(r) {
		fmt.Fprintf(out, "goal  %s\n", line)
	}
	for _, c := range chosen {
		if err := r.outcomes[c.key].err; err != nil {
			fmt.Fprintf(out, "%s: %v\n", c.title, err)
		}
	}
	return failed
}

// seconds are the median and the worst.
func seconds(all []time.Duration) string {
	if len(all) < 2 {
		return fmt.Sprintf("%.2f s", quantile(all, 0.5).Seconds())
	}
	return fmt.Sprintf("%.2f, worst %.2f s", quantile(all, 0.5).Seconds(), slices.Max(all).Seconds())
}

// rate is in pods per second: the median of the rounds.
func (o outcome) rate(l load) float64 { return float64(l.pods()) / quantile(o.took, 0.5).Seconds() }

// writes counts all writes, those of the load program too.
func (o outcome) writes() int {
	n := 0
	for _, w := range o.spent.writes {
		n += w.Total()
	}
	return n
}

var writers = []struct{ user, name string }{
	{"e2e-admin", "load"}, {audit.KubeScheduler, "scheduler"}, {audit.MusterScheduler, "scheduler"}, {audit.Muster, "muster"},
}

func reportWrites(out io.Writer, chosen []contender, r result) {
	fmt.Fprintf(out, "\nWrites per pod by user, and calls to Muster:\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, c := range chosen {
		o := r.outcomes[c.key]
		pods := float64(r.load.pods() * max(1, o.rounds))
		var words []string
		for _, w := range writers {
			kinds := o.spent.writes[w.user]
			var parts []string
			for kind, n := range kinds {
				parts = append(parts, fmt.Sprintf("%s %.2f", kind, float64(n)/pods))
			}
			if slices.Sort(parts); len(parts) > 0 {
				words = append(words, w.name+": "+strings.Join(parts, ", "))
			}
		}
		if filter, prioritize := o.spent.calls["filter"], o.spent.calls["prioritize"]; filter.count > 0 {
			words = append(words, fmt.Sprintf("calls: filter %.2f of %.2f ms, prioritize %.2f", filter.count/pods,
				filter.seconds*1000/filter.count, prioritize.count/pods))
		}
		fmt.Fprintf(table, "  %s\t%s\n", c.title, strings.Join(words, "; "))
	}
	table.Flush()
}

func reportStages(out io.Writer, chosen []contender, r result) {
	fmt.Fprintf(out, "\nWrites for pods, in seconds from a gang's last creation (medians of the gangs), and how long the API server took:\n")
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(table, "\t\tfirst\tlast\tms each\tp99\twrites\t\n")
	for _, c := range chosen {
		for _, s := range r.outcomes[c.key].stages {
			fmt.Fprintf(table, "%s\t%s\t%.2f\t%.2f\t%.1f\t%.0f\t%d\t\n", c.title, s.name, s.first.Seconds(), s.last.Seconds(),
				float64(s.took.Microseconds())/1000, float64(s.worst.Microseconds())/1000, s.writes)
		}
	}
	table.Flush()
	fmt.Fprintln(out)
}
