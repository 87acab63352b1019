package suite

import (
	"fmt"
	"regexp"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"muster.dev/e2e/objects"
)

// recorded reads a time of the gang's record, such as "started".
func (e *env) recorded(g objects.Gang, field string) (time.Time, error) {
	group, err := e.Dynamic.Resource(g.GroupResource()).Namespace(g.Namespace).Get(e.ctx, g.Name, metav1.GetOptions{})
	if err != nil {
		return time.Time{}, err
	}
	record := group.GetAnnotations()["muster.dev/gang-record"]
	found := regexp.MustCompile(`(?:^| )` + field + `=(\S+)`).FindStringSubmatch(record)
	if found == nil {
		return time.Time{}, errorf("the record is %q", record)
	}
	return time.Parse(time.RFC3339Nano, found[1])
}

func near(when, told time.Time) error {
	if apart := told.Sub(when); apart < -5*time.Second || apart > 5*time.Second {
		return fmt.Errorf("it tells %s, which is %s after %s", told, apart, when)
	}
	return nil
}

// What outlives the process is kept in the time of API objects, and a restart begins nothing again.
func TestSinceWhenAGangRunsAndLacksAMemberOutlivesARestart(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.setPolicy("partialTimeout: 40s")
	e.addGPUNodes(3)
	g := e.gang("g", 3, 8)
	e.add(g)
	e.whole(30*time.Second, g)
	began := time.Now()
	e.eventually(10*time.Second, "the record tells since when the gang runs", func() error {
		told, err := e.recorded(g, "started")
		if err != nil {
			return err
		}
		return near(began, told)
	})
	e.deletePod(g.Pod(1).Name)
	lost := time.Now()
	e.eventually(10*time.Second, "the record tells since when it lacks a member", func() error {
		told, err := e.recorded(g, "since")
		if err != nil {
			return err
		}
		return near(lost, told)
	})
	e.auditor.Allow(g.Key(), 2*time.Minute)
	time.Sleep(15 * time.Second)
	e.muster.Process.Kill()
	e.must(e.muster.Restart(e.ctx))
	e.always(time.Until(lost.Add(35*time.Second)), "the others stay as long as a replacement may come", func() error {
		if n := e.bound(g); n != 2 {
			return errorf("%d are bound", n)
		}
		return nil
	})
	e.eventually(time.Until(lost.Add(52*time.Second)), "they are taken back when the time is over, which the restart did not begin again",
		func() error {
			if n := e.bound(g); n != 0 {
				return errorf("%d are bound; %s", n, e.why(g))
			}
			return nil
		})
}
