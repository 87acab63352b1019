// Package process runs the programs of a control plane: it logs what they say, stops them, kills them and pauses them.
package process

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// Spec says what to run.
type Spec struct {
	Name     string // of the log and pid files
	Path     string
	Args     []string
	Env      []string // added to this process's own
	Dir      string   // where Name.log and Name.pid go
	Detached bool     // outlives this process; else it dies with it
}

// Process is one running program. Safe for use by several goroutines.
type Process struct {
	Spec Spec
	cmd  *exec.Cmd
	done chan struct{} // closed when it has ended

	mu  sync.Mutex
	err error // how it ended
}

// Start runs a program; its log is appended to.
func Start(spec Spec) (*Process, error) {
	log, err := os.OpenFile(spec.LogFile(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd := exec.Command(spec.Path, spec.Args...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.Env = append(os.Environ(), spec.Env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	if spec.Detached {
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	} else {
		cmd.SysProcAttr.Pdeathsig = syscall.SIGKILL
	}
	p := &Process{Spec: spec, cmd: cmd, done: make(chan struct{})}
	if err := start(cmd); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Name, err)
	}
	pid := fmt.Sprintf("%d %s\n", cmd.Process.Pid, spec.Path)
	if err := os.WriteFile(filepath.Join(spec.Dir, spec.Name+".pid"), []byte(pid), 0o644); err != nil {
		return nil, errors.Join(err, cmd.Process.Kill())
	}
	go func() {
		err := cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(p.done)
	}()
	return p, nil
}

// LogFile is where the program's output goes.
func (s Spec) LogFile() string { return filepath.Join(s.Dir, s.Name+".log") }

// Pid is the process id.
func (p *Process) Pid() int { return p.cmd.Process.Pid }

// Done is closed when the program has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// Running tells whether the program has not ended.
func (p *Process) Running() bool {
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// Ended says how the program ended.
func (p *Process) Ended() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w (log: %s)", p.Spec.Name, p.err, p.Spec.LogFile())
}

// Stop asks the program to end, and kills it where it has not after the grace period.
func (p *Process) Stop(grace time.Duration) {
	p.signal(syscall.SIGCONT)
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(grace):
		p.Kill()
	}
}

// Kill ends the program at once, as kill -9 does, and waits for its end.
func (p *Process) Kill() {
	p.signal(syscall.SIGKILL)
	<-p.done
}

// Pause stops the program where it is until Resume.
func (p *Process) Pause() { p.signal(syscall.SIGSTOP) }

// Resume lets a paused program go on.
func (p *Process) Resume() { p.signal(syscall.SIGCONT) }

// Hangup asks the program to load its settings again.
func (p *Process) Hangup() { p.signal(syscall.SIGHUP) }

// CPU is the processor time that the program has used so far.
func (p *Process) CPU() (time.Duration, error) { return cpuOf(p.Pid()) }

func (p *Process) signal(s syscall.Signal) {
	if p.Running() {
		_ = p.cmd.Process.Signal(s) // it may have ended meanwhile
	}
}

// Where connections get their ports from, a program that starts a moment later may find one taken. These are below, and other
// processes begin elsewhere.
const firstPort, ports = 10000, 20000

var nextPort atomic.Int64

func init() { nextPort.Store(int64(os.Getpid()) * 64) }

// FreePort is a port of the loopback that nobody listens on, and that no call before returned.
func FreePort() (int, error) {
	var err error
	for range ports {
		port := firstPort + int(nextPort.Add(1)%ports)
		var l net.Listener
		if l, err = net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, err
}

// MustFreePort is FreePort where there surely is one.
func MustFreePort() int {
	port, err := FreePort()
	if err != nil {
		panic(err)
	}
	return port
}
