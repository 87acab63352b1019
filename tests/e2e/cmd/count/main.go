// Command count reads what `go test -json` writes, passes on what people want to see of it, and ends with one line that
// counts: N passed, N failed, N skipped. A test that has parts counts by its parts.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64
}

func main() {
	results := map[string]string{}
	output := map[string][]string{}
	parents := map[string]bool{}
	broken := 0 // packages that failed without a failed test
	scanner := bufio.NewScanner(os.Stdin)
	scanner.Buffer(make([]byte, 1<<20), 16<<20)
	for scanner.Scan() {
		var e event
		if err := json.Unmarshal(scanner.Bytes(), &e); err != nil {
			fmt.Println(scanner.Text()) // what the compiler says
			continue
		}
		key := e.Package + " " + e.Test
		switch e.Action {
		case "run":
			if i := strings.LastIndexByte(e.Test, '/'); i >= 0 {
				parents[e.Package+" "+e.Test[:i]] = true
			}
		case "output", "build-output":
			output[key] = append(output[key], e.Output)
		case "pass", "fail", "skip":
			if e.Test == "" {
				if e.Action == "fail" && !anyFailed(results, e.Package) {
					broken++
					fmt.Print(strings.Join(output[key], ""))
				}
				continue
			}
			results[key] = e.Action
			fmt.Printf("%-4s %7.1f s  %s\n", e.Action, e.Elapsed, e.Test)
			if e.Action != "pass" {
				fmt.Print(indented(output[key]))
			}
			delete(output, key)
		}
	}
	counts := map[string]int{"fail": broken}
	for key, result := range results {
		if !parents[key] {
			counts[result]++
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", counts["pass"], counts["fail"], counts["skip"])
	if counts["fail"] > 0 || counts["pass"] == 0 {
		os.Exit(1)
	}
}

func anyFailed(results map[string]string, pkg string) bool {
	for key, result := range results {
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
