package suite

import (
	"strings"
	"testing"
	"time"
)

// A user lets the pods of a framework start one by one. It does not matter whether the framework or its pods say so.
func TestAJobSetThatWantsNoGangStartsOneByOne(t *testing.T) {
	const off = `{muster.dev/gang: "false"}`
	for _, c := range []struct {
		name, before, text string // text: is put before it
		times              int
	}{
		{"an annotation of the JobSet", "  name: train\n", "  annotations: " + off + "\n", 1},
		{"a label of the JobSet", "  name: train\n", "  labels: " + off + "\n", 1},
		{"annotations of its Jobs", "      spec:\n        completions", "      metadata: {annotations: " + off + "}\n", 2},
		{"annotations of its pods", "          spec:\n            schedulerName: muster\n", "          metadata: {annotations: " + off + "}\n", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := named(t, "JobSet")
			f.gpus = 0 // nodes: those that are added
			f.change = func(sample string) string {
				if n := strings.Count(sample, "\n"+c.before); n != c.times {
					t.Fatalf("the sample has %d times %q", n, c.before)
				}
				return strings.ReplaceAll(sample, "\n"+c.before, "\n"+c.text+c.before)
			}
			p := f.begin(t)
			p.addPlaces("a", "b")
			p.apply()
			p.eventually(60*time.Second, "two of four pods have a node", func() error { return p.bindsOnly(2, 4) })
			p.allAlone(4)
			pods, err := p.members()
			p.must(err)
			for _, pod := range pods {
				p.explains(pod.Name, `muster.dev/gang is "false"`)
			}
			for i, place := range []string{"c", "d"} {
				p.addPlaces(place)
				p.eventually(30*time.Second, "the next one has a node", func() error { return p.bindsOnly(3+i, 4) })
			}
			p.finished()
		})
	}
}
