package suite

import (
	"fmt"
	"testing"
	"time"

	"muster.dev/e2e/objects"
)

// RED: first pods are placed where they fit themselves. In a rack without room for the others of their Job these wait for ever, though
// other racks are free.
func TestARackWithoutRoomForAWholeJobIsNotBegun(t *testing.T) {
	p := inRacks(t)
	for i := range 4 {
		p.addRack(fmt.Sprintf("r%d", i), 2)
	}
	holder := p.gang("holder", 1, 8, objects.WithNodeSelector("kubernetes.io/hostname", p.ns+"-r0-1"))
	p.add(holder)
	p.whole(30*time.Second, holder)
	p.apply()
	p.eventually(90*time.Second, "all of it runs", func() error { return p.bindsOnly(4, 4) })
	p.eachInARackOfItsOwn(jobIndex)
}
