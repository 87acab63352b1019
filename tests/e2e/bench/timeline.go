package main

import (
	"bufio"
	"encoding/json"
	"os"
	"slices"
	"time"

	"muster.dev/e2e/audit"
)

// stage is one kind of write of many, as the API server saw them.
type stage struct {
	name   string
	writes int
	// By gang, from its last pod's creation: when the first of these came and the last was answered; medians.
	first, last time.Duration
	took, worst time.Duration // of one write within the API server: median, 99th percentile
}

type auditEvent struct {
	Verb                                     string
	User                                     struct{ Username string }
	ResponseStatus                           struct{ Code int }
	ObjectRef                                struct{ Resource, Subresource, Namespace, Name string }
	RequestReceivedTimestamp, StageTimestamp time.Time
}

const createStage = "create"

// stageOf names what a write does for a pod; empty: nothing of interest.
func (e auditEvent) stageOf() string {
	switch e.Verb + " " + e.ObjectRef.Resource + "/" + e.ObjectRef.Subresource {
	case "create pods/":
		return createStage
	case "patch pods/status":
		if e.User.Username == audit.Muster {
			return "nominate"
		}
		return "status"
	case "patch pods/":
		return "release"
	case "create pods/binding":
		return "bind"
	}
	return ""
}

// stagesSince reads the timeline of the gangs out of an audit log.
func stagesSince(file string, mark audit.Mark, gangs []gang) ([]stage, error) {
	events, err := eventsSince(file, mark)
	if err != nil {
		return nil, err
	}
	gangOf := map[string]int{}
	for i, g := range gangs {
		for _, pod := range g.pods {
			gangOf[pod.Name] = i
		}
	}
	complete := make([]time.Time, len(gangs))
	type span struct{ first, last time.Time }
	spans := map[string][]span{}
	durations := map[string][]time.Duration{}
	for _, e := range events {
		name := e.stageOf()
		i, known := gangOf[e.ObjectRef.Name]
		if name == "" || !known || e.ObjectRef.Namespace != namespace {
			continue
		}
		durations[name] = append(durations[name], e.StageTimestamp.Sub(e.RequestReceivedTimestamp))
		if spans[name] == nil {
			spans[name] = make([]span, len(gangs))
		}
		s := &spans[name][i]
		if s.first.IsZero() || e.RequestReceivedTimestamp.Before(s.first) {
			s.first = e.RequestReceivedTimestamp
		}
		if e.StageTimestamp.After(s.last) {
			s.last = e.StageTimestamp
		}
		if name == createStage {
			complete[i] = s.last
		}
	}
	var out []stage
	for _, name := range []string{createStage, "nominate", "release", "status", "bind"} {
		if len(durations[name]) == 0 {
			continue
		}
		var first, last []time.Duration
		for i, s := range spans[name] {
			if !s.first.IsZero() && !complete[i].IsZero() {
				first, last = append(first, s.first.Sub(complete[i])), append(last, s.last.Sub(complete[i]))
			}
		}
		out = append(out, stage{
			name: name, writes: len(durations[name]), first: quantile(first, 0.5), last: quantile(last, 0.5),
			took: quantile(durations[name], 0.5), worst: quantile(durations[name], 0.99),
		})
	}
	return out, nil
}

func eventsSince(file string, mark audit.Mark) ([]auditEvent, error) {
	log, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	if _, err := log.Seek(int64(mark), 0); err != nil {
		return nil, err
	}
	var out []auditEvent
	scanner := bufio.NewScanner(log)
	scanner.Buffer(make([]byte, 1<<20), 16<<20)
	for scanner.Scan() {
		var e auditEvent
		if json.Unmarshal(scanner.Bytes(), &e) == nil { // else a line that is not complete yet
			out = append(out, e)
		}
	}
	return out, scanner.Err()
}

// quantile is the smallest value that this part of all does not exceed; 0 without any.
func quantile(all []time.Duration, part float64) time.Duration {
	if len(all) == 0 {
		return 0
	}
	sorted := slices.Clone(all)
	slices.Sort(sorted)
	return sorted[min(len(sorted)-1, int(part*float64(len(sorted))))]
}
