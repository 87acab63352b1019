// Command count reads what `go test -json` writes, passes on what people want to see of it, and ends with one line that counts: N passed,
// N failed, N skipped. A test that has parts counts by its parts. Arguments: files, one of each lane that runs a part of the tests.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

// results are those of all lanes. Safe for use by several goroutines.
type results struct {
	mu      sync.Mutex
	of      map[string]string // of a test, by package and name
	left    map[string]bool   // what some lane has left to another one
	output  map[string][]string
	parents map[string]bool
	broken  int // packages that failed without a failed test, or did not end
}

func main() {
	all := results{of: map[string]string{}, left: map[string]bool{}, output: map[string][]string{}, parents: map[string]bool{}}
	var lanes sync.WaitGroup
	for _, path := range os.Args[1:] {
		file, err := os.Open(path)
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		lanes.Go(func() { all.read(path, file) })
	}
	lanes.Wait()
	os.Exit(all.report())
}

// read follows one lane to its end.
func (r *results) read(lane string, file *os.File) {
	open, began := map[string]bool{}, false
	scanner := bufio.NewScanner(file)
	scanner.Buffer(make([]byte, 1<<20), 16<<20)
	for scanner.Scan() {
		var e event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			fmt.Println(scanner.Text()) // what the compiler says
			continue
		}
		began = true
		if e.Test == "" && (e.Action == "pass" || e.Action == "fail" || e.Action == "skip") {
			delete(open, e.Package)
		} else if e.Package != "" {
			open[e.Package] = true
		}
		r.take(lane+" "+e.Package+" "+e.Test, e)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for pkg := range open {
		fmt.Printf("%s did not end\n", pkg)
		r.broken++
	}
	if !began || scanner.Err() != nil {
		fmt.Println("a lane told nothing of any test", scanner.Err())
		r.broken++
	}
}

func (r *results) take(said string, e event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := e.Package + " " + e.Test
	switch e.Action {
	case "run":
		if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
			r.parents[e.Package+" "+e.Test[:i]] = true
		}
	case "output", "build-output":
		r.output[said] = append(r.output[said], e.Output)
	case "pass", "fail", "skip":
		text := r.output[said]
		delete(r.output, said)
		if e.Test == "" {
			if e.Action == "fail" && !r.anyFailed(e.Package) {
				r.broken++
				fmt.Print(strings.Join(text, ""))
			}
			return
		}
		if e.Action == "skip" && strings.Contains(strings.Join(text, ""), "runs in another lane") {
			r.left[key] = true
			return
		}
		if !better(e.Action, r.of[key]) {
			return
		}
		r.of[key] = e.Action
		fmt.Printf("%-4s %7.1f s  %s\n", e.Action, e.Elapsed, e.Test)
		if e.Action != "pass" {
			fmt.Print(indented(text))
		}
	}
}

// better: what one lane says of a test is news beside what another said. A part that was skipped there may have run here.
func better(now, before string) bool {
	rank := map[string]int{"skip": 1, "pass": 2, "fail": 3}
	return rank[now] > rank[before]
}

func (r *results) report() int {
	for key := range r.left {
		if r.of[key] == "" {
			fmt.Printf("%s ran in no lane\n", key)
			r.broken++
		}
	}
	counts := map[string]int{"fail": r.broken}
	for key, result := range r.of {
		if !r.parents[key] {
			counts[result]++
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", counts["pass"], counts["fail"], counts["skip"])
	if counts["fail"] > 0 || counts["pass"] == 0 {
		return 1
	}
	return 0
}

func (r *results) anyFailed(pkg string) bool {
	for key, result := range r.of {
		if result == "fail" && strings.HasPrefix(key, pkg+" ") {
			return true
		}
	}
	return false
}

func indented(lines []string) string {
	var out strings.Builder
	for _, line := range lines {
		if !strings.HasPrefix(strings.TrimSpace(line), "=== ") && !strings.HasPrefix(strings.TrimSpace(line), "--- ") {
			out.WriteString("     " + line)
		}
	}
	return out.String()
}
