package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"muster.dev/e2e/audit"
	"muster.dev/e2e/process"
)

// The parts whose processor time is measured separately.
const (
	schedulerPart = iota
	musterPart
	apiServerPart
	etcdPart
	benchPart
	parts
)

// usage is what has been spent so far, or between two times.
type usage struct {
	at      time.Time
	wall    time.Duration
	cpu     [parts]time.Duration
	machine time.Duration // all that the processors did, for whomever
	mark    audit.Mark
	writes  map[string]audit.Writes // by user
	calls   map[string]call         // that kube-scheduler made to Muster, by verb
}

type call struct{ count, seconds float64 }

func (a *arena) measure() (usage, error) {
	u := usage{at: time.Now(), calls: map[string]call{}}
	processes := [parts]*process.Process{schedulerPart: a.scheduler, apiServerPart: a.APIServer(), etcdPart: a.Etcd()}
	if a.server != nil {
		processes[musterPart] = a.server.Process
	}
	var err error
	for part, p := range processes {
		if p == nil {
			continue
		}
		if u.cpu[part], err = p.CPU(); err != nil {
			return u, err
		}
	}
	u.cpu[benchPart] = ownCPU()
	if u.machine, err = machineCPU(); err != nil {
		return u, err
	}
	if u.mark, err = a.audit.Now(); err != nil || a.server == nil {
		return u, err
	}
	for _, verb := range []string{"filter", "prioritize", "bind"} {
		var c call
		label := `verb="` + verb + `"`
		if c.count, err = a.server.Metric("muster_extender_request_seconds_count", label); err != nil {
			return u, err
		}
		if c.seconds, err = a.server.Metric("muster_extender_request_seconds_sum", label); err != nil {
			return u, err
		}
		u.calls[verb] = c
	}
	return u, nil
}

func (u usage) minus(before usage) usage {
	d := usage{wall: u.at.Sub(before.at), machine: u.machine - before.machine, calls: map[string]call{}}
	for part := range parts {
		d.cpu[part] = u.cpu[part] - before.cpu[part]
	}
	for verb, c := range u.calls {
		was := before.calls[verb]
		d.calls[verb] = call{c.count - was.count, c.seconds - was.seconds}
	}
	return d
}

func (u usage) plus(next usage) usage {
	sum := usage{wall: u.wall + next.wall, machine: u.machine + next.machine,
		writes: map[string]audit.Writes{}, calls: map[string]call{}}
	for part := range parts {
		sum.cpu[part] = u.cpu[part] + next.cpu[part]
	}
	for _, one := range []usage{u, next} {
		for user, writes := range one.writes {
			if sum.writes[user] == nil {
				sum.writes[user] = audit.Writes{}
			}
			for kind, n := range writes {
				sum.writes[user][kind] += n
			}
		}
		for verb, c := range one.calls {
			was := sum.calls[verb]
			sum.calls[verb] = call{was.count + c.count, was.seconds + c.seconds}
		}
	}
	return sum
}

// others is how many processors were busy with what is none of this.
func (u usage) others() float64 {
	rest := u.machine
	for _, part := range u.cpu {
		rest -= part
	}
	return max(0, rest.Seconds()/u.wall.Seconds())
}

// perPod is the processor time of one part, in milliseconds per pod.
func (u usage) perPod(part, pods int) float64 {
	return u.cpu[part].Seconds() * 1000 / float64(pods)
}

func ownCPU() time.Duration {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		return 0
	}
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// Clock ticks per second in /proc.
const ticksPerSecond = 100

func machineCPU() (time.Duration, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return 0, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	// cpu user nice system idle iowait irq softirq ...
	var ticks int64
	for i, field := range strings.Fields(line) {
		if i == 0 || i == 4 || i == 5 || i > 7 {
			continue
		}
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// all is the processor time of everything together. Where it is what bounds the rate, its inverse times the processors is
// that rate, and unlike the rate it does not suffer from what else the machine does.
func (u usage) all(pods int) float64 {
	sum := 0.0
	for part := range parts {
		sum += u.perPod(part, pods)
	}
	return sum
}
