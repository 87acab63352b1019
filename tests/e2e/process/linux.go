package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Clock ticks per second in /proc, the same on every Linux that Go runs on.
const ticksPerSecond = 100

var starter = newStarter()

// start runs cmd from a thread that never ends: a program that dies with its parent dies when the parent's *thread* ends.
func start(cmd *exec.Cmd) error {
	answer := make(chan error)
	starter <- func() { answer <- cmd.Start() }
	return <-answer
}

func newStarter() chan<- func() {
	jobs := make(chan func())
	go func() {
		runtime.LockOSThread()
		for job := range jobs {
			job()
		}
	}()
	return jobs
}

func cpuOf(pid int) (time.Duration, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, err
	}
	// The name may hold spaces; what follows its closing bracket does not. User and system time are fields 14 and 15.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	var ticks int64
	for _, field := range fields[11:13] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0, err
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / ticksPerSecond, nil
}

// StopRecorded ends the programs whose pid files lie in dir, in reverse order of their start; a pid that now belongs to
// another program is left alone. It returns their names.
func StopRecorded(dir string, grace time.Duration) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.pid"))
	if err != nil {
		return nil, err
	}
	var stopped []string
	for len(files) > 0 {
		latest := 0
		for i := range files {
			if modified(files[i]).After(modified(files[latest])) {
				latest = i
			}
		}
		file := files[latest]
		files = append(files[:latest], files[latest+1:]...)
		if endRecorded(file, grace) {
			stopped = append(stopped, strings.TrimSuffix(filepath.Base(file), ".pid"))
		}
		if err := os.Remove(file); err != nil {
			return stopped, err
		}
	}
	return stopped, nil
}

func modified(file string) time.Time {
	info, err := os.Stat(file)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

func endRecorded(file string, grace time.Duration) bool {
	text, err := os.ReadFile(file)
	if err != nil {
		return false
	}
	var pid int
	var path string
	if _, err := fmt.Sscanf(string(text), "%d %s", &pid, &path); err != nil || !runs(pid, path) {
		return false
	}
	_ = syscall.Kill(pid, syscall.SIGCONT)
	_ = syscall.Kill(pid, syscall.SIGTERM)
	for deadline := time.Now().Add(grace); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
		if !runs(pid, path) {
			return true
		}
	}
	_ = syscall.Kill(pid, syscall.SIGKILL)
	return true
}

func runs(pid int, path string) bool {
	exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid))
	return err == nil && strings.TrimSuffix(exe, " (deleted)") == path
}
