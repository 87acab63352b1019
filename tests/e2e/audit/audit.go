// Package audit counts the writes that an API server carried out, by who asked for them, from its audit log.
package audit

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"sort"
	"strings"
	"time"
)

// The users whose writes are of interest.
const (
	Muster          = "system:serviceaccount:muster-system:muster"
	MusterScheduler = "system:serviceaccount:muster-system:muster-scheduler"
	KubeScheduler   = "system:kube-scheduler"
)

// Log is the audit log of one API server.
type Log struct{ File string }

// Mark is a place in the log.
type Mark int64

// Writes counts writes by "verb resource/subresource", such as "create pods/binding".
type Writes map[string]int

// The server keeps what it writes down for up to 0.2 s (controlplane's --audit-log-batch-max-wait), and then writes it.
const written = time.Second

// Now is the place after everything that was answered before; it waits until that is written down.
func (l Log) Now() (Mark, error) {
	time.Sleep(written)
	info, err := os.Stat(l.File)
	if err != nil {
		return 0, err
	}
	return Mark(info.Size()), nil
}

type event struct {
	Verb string
	User struct{ Username string }
	// Where there is no answer the field is absent, and Code is 0.
	ResponseStatus struct{ Code int }
	ObjectRef      struct{ Resource, Subresource, Namespace, Name string }
}

// Since counts what came after the mark by user. Leases are left out: they are renewed whatever happens.
func (l Log) Since(mark Mark) (map[string]Writes, error) {
	file, err := os.Open(l.File)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := file.Seek(int64(mark), 0); err != nil {
		return nil, err
	}
	out := map[string]Writes{}
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 16<<20)
	for scanner.Scan() {
		var e event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			continue // a line that is not complete yet
		}
		if e.ObjectRef.Resource == "leases" {
			continue
		}
		kind := e.Verb + " " + e.ObjectRef.Resource
		if e.ObjectRef.Subresource != "" {
			kind += "/" + e.ObjectRef.Subresource
		}
		if out[e.User.Username] == nil {
			out[e.User.Username] = Writes{}
		}
		out[e.User.Username][kind]++
	}
	return out, scanner.Err()
}

// Total is their number.
func (w Writes) Total() int {
	sum := 0
	for _, n := range w {
		sum += n
	}
	return sum
}

func (w Writes) String() string {
	var parts []string
	for kind, n := range w {
		parts = append(parts, fmt.Sprintf("%s: %d", kind, n))
	}
	sort.Strings(parts)
	return strings.Join(parts, ", ")
}
