package suite

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// Each attempt of a JobSet is another gang. What others were evicted for is kept from one to the next; nobody is evicted twice.
func TestTheNextAttemptOfAJobSetFindsItsRoomAgainAndHasNobodyEvictedTwice(t *testing.T) {
	jobSet := named(t, "JobSet")
	const spec = "          spec:\n            schedulerName: muster\n"
	jobSet.change = func(text string) string {
		return strings.ReplaceAll(text, spec, "          metadata:\n            labels: {"+queueName+": research}\n"+spec)
	}
	p := jobSet.begin(t)
	p.setTeams(`queues:
- {name: research, guarantee: {gpu: 16}, preemption: {minRuntime: {reclaim: 10m}, restartWindow: 60s}}
- {name: guests}
`)
	old := p.teamGang("old", "guests", 2, 8)
	p.add(old)
	p.whole(30*time.Second, old)
	time.Sleep(1100 * time.Millisecond) // starts are told in seconds
	p.apply()
	p.eventually(60*time.Second, "all of it runs", p.attemptRuns(0))
	p.gone(old)

	small := p.teamGang("small", "guests", 2, 4)
	p.add(small)
	p.waitsFor(small, "NotEnoughGpus")
	p.failsOnce()
	p.eventually(60*time.Second, "its next attempt runs", p.attemptRuns(1))
	p.told(p.ns, "GangEndedEarly", "it preempts nobody for an hour")
	if n := p.bound(small); n > 0 {
		t.Errorf("%d pods of the small gang took its room", n)
	}
	// Nobody was evicted for that one: whoever comes first starts now, and nobody is evicted.
	p.failsOnce()
	p.eventually(60*time.Second, "one of them runs", func() error {
		if p.bound(small) == small.Members {
			return nil
		}
		return p.attemptRuns(2)()
	})
	p.runsOn(5*time.Second, small)
}

// attemptRuns: all pods of that attempt have nodes.
func (p *play) attemptRuns(number int) func() error {
	return func() error {
		pods, err := p.list(fmt.Sprintf("jobset.sigs.k8s.io/restart-attempt=%d", number))
		if n := countBound(pods); err == nil && n != p.expected() {
			err = errorf("%d of %d pods have", n, len(pods))
		}
		return err
	}
}

// failsOnce: its last pod fails.
func (p *play) failsOnce() {
	p.t.Helper()
	pods, err := p.members()
	p.must(err)
	p.ends(pods[len(pods)-1], 1)
}
