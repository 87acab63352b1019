package suite

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"muster.dev/e2e/proxy"
)

// Owners that the API server does not give. Nobody knows then which pods start together, so none does.

// refuseJobs has every read of one Job of the namespace answered so.
func refuseJobs(e *env, status int, reason string) *proxy.Active {
	return e.proxy.Add(proxy.Fault{Status: status, Reason: reason, Match: func(r proxy.Request) bool {
		return r.Verb == "get" && r.Group == "batch/v1" && r.Resource == "jobs" && r.Namespace == e.ns && r.Name != ""
	}})
}

func TestPodsOfAJobThatCannotBeReadWaitTogetherSayWhyAndStartWholeWhenItCan(t *testing.T) {
	for _, c := range []struct {
		name   string
		status int
		reason string
		want   string
	}{
		{"the right is missing", http.StatusForbidden, "Forbidden", "Muster lacks the right to get jobs of group batch"},
		{"the API server fails", http.StatusServiceUnavailable, "ServiceUnavailable", "503"},
	} {
		t.Run(c.name, func(t *testing.T) {
			e := in(t, mustered(t, worldOptions{}))
			refused := refuseJobs(e, c.status, c.reason)
			defer refused.Remove()
			e.addGPUNodes(2)
			train := e.ownedGang("train", 4)
			e.eventually(30*time.Second, "one gang waits and says what is missing", func() error {
				gangs, alone, err := e.gangsHere()
				if err != nil {
					return err
				}
				if len(gangs) != 1 || len(alone) != 0 || gangs[0].Pods != 4 || !strings.Contains(gangs[0].Reason.Message, c.want) {
					return errorf("%s", show(append(gangs, alone...)))
				}
				return nil
			})
			e.always(4*time.Second, "none of them starts", func() error {
				pods, err := e.podsOfJob("train")
				if n := countBound(pods); err == nil && n > 0 {
					err = errorf("%d have nodes", n)
				}
				return err
			})
			refused.Remove()
			e.whole(40*time.Second, train)
		})
	}
}
