package suite

import (
	"strings"
	"testing"
	"time"

	"muster.dev/e2e/objects"
)

func TestGangsWhoseDevicesMusterDoesNotPlanAreRefusedByNameAndHoldNobodyUp(t *testing.T) {
	e := in(t, mustered(t, worldOptions{}))
	e.addGPUNodes(1)
	slices := e.gang("slices", 2, 0, objects.RequestingDevices("nvidia.com/mig-1g.10gb", "1"))
	claims := e.gang("claims", 2, 0, objects.WithResourceClaim("devices"))
	e.add(slices, claims)
	whole := e.gang("whole", 2, 4)
	e.add(whole)
	e.whole(60*time.Second, whole)
	for what, g := range map[string]objects.Gang{"nvidia.com/mig-1g.10gb": slices, "spec.resourceClaims": claims} {
		e.eventually(30*time.Second, g.Name+" says why it is refused", func() error {
			if why := e.why(g); !strings.Contains(why, "UnplannedDevices") || !strings.Contains(why, "Muster does not plan "+what) {
				return errorf("%s", why)
			}
			return nil
		})
		if n := e.bound(g); n != 0 {
			t.Errorf("%d pods of %s are bound", n, g.Name)
		}
	}
	e.delete(whole)
	e.always(3*time.Second, "free GPUs change nothing for them", func() error {
		if n := e.bound(slices) + e.bound(claims); n != 0 {
			return errorf("%d pods are bound", n)
		}
		return nil
	})
}
