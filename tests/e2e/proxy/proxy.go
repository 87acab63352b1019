// Package proxy stands between muster and the API server and breaks things on request: it refuses calls, loses answers,
// holds them back, ends watches, or tells the test that a call has come, before or after it is carried out.
package proxy

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"strconv"
	"sync"
	"time"

	"muster.dev/e2e/certs"
)

// Fault says what happens to matching requests. The first one that acts on a request is the only one that does.
type Fault struct {
	Match Match
	Skip  int // lets so many pass first
	Times int // then acts so often; 0: until it is removed

	Before     func() // runs before the call is carried out
	Status     int    // answered in its place; 0: it is carried out
	Reason     string // of the Status object
	RetryAfter int    // seconds
	Drop       bool   // the call is not carried out and its connection breaks
	Hold       bool   // the call waits until the fault is removed
	After      func() // runs after the call was carried out, before its answer is passed on
	LoseAnswer bool   // carried out, and then the connection breaks
}

// Active is a fault in force.
type Active struct {
	fault   Fault
	proxy   *Proxy
	removed chan struct{}
	reached chan struct{}

	// guarded by proxy.mu
	seen, hits int
}

// Proxy is a running one. Safe for all.
type Proxy struct {
	URL    string
	server *http.Server

	mu      sync.Mutex
	faults  []*Active
	watches map[int]context.CancelFunc
	next    int
	counts  map[string]int // by "verb resource/subresource"
}

// Start runs a proxy before the API server at target, whose certificate ca signed.
func Start(target, ca string, authority *certs.Authority) (*Proxy, error) {
	pair, err := authority.Server("proxy")
	if err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	to, err := url.Parse(target)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(pem)
	p := &Proxy{
		URL:     fmt.Sprintf("https://%s", listener.Addr()),
		watches: map[int]context.CancelFunc{}, counts: map[string]int{},
	}
	forward := &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(to) },
		FlushInterval: -1, // events of a watch go on at once
		Transport: &http.Transport{
			TLSClientConfig: &tls.Config{RootCAs: roots}, MaxIdleConnsPerHost: 256, DisableCompression: true,
		},
		ErrorHandler: func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
		ErrorLog:     log.New(nowhere{}, "", 0),
	}
	p.server = &http.Server{
		Handler:  http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.serve(w, r, forward) }),
		ErrorLog: log.New(nowhere{}, "", 0),
		// HTTP/1.1 as muster speaks it: a broken connection is one call's.
		TLSNextProto: map[string]func(*http.Server, *tls.Conn, http.Handler){},
	}
	go func() {
		if err := p.server.ServeTLS(listener, pair.Cert, pair.Key); !errors.Is(err, http.ErrServerClosed) {
			panic(err)
		}
	}()
	return p, nil
}

type nowhere struct{}

func (nowhere) Write(b []byte) (int, error) { return len(b), nil }

// Close ends it.
func (p *Proxy) Close() {
	p.Heal()
	p.server.Close()
}

// Add puts a fault in force.
func (p *Proxy) Add(fault Fault) *Active {
	active := &Active{fault: fault, proxy: p, removed: make(chan struct{}), reached: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, active)
	return active
}

// Reached is closed when the fault acts for the first time.
func (a *Active) Reached() <-chan struct{} { return a.reached }

// Hits is how often it has acted.
func (a *Active) Hits() int {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	return a.hits
}

// Remove takes it out of force; what it holds goes on.
func (a *Active) Remove() {
	a.proxy.mu.Lock()
	defer a.proxy.mu.Unlock()
	for i, other := range a.proxy.faults {
		if other == a {
			a.proxy.faults = append(a.proxy.faults[:i:i], a.proxy.faults[i+1:]...)
			close(a.removed)
			return
		}
	}
}

// Heal removes every fault.
func (p *Proxy) Heal() {
	p.mu.Lock()
	faults := append([]*Active(nil), p.faults...)
	p.mu.Unlock()
	for _, fault := range faults {
		fault.Remove()
	}
}

// EndWatches breaks every watch that is open.
func (p *Proxy) EndWatches() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, end := range p.watches {
		end()
	}
}

// Count is how many calls of this kind have come, such as "patch pods/status" or "create pods/binding".
func (p *Proxy) Count(kind string) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.counts[kind]
}

func (p *Proxy) serve(w http.ResponseWriter, r *http.Request, forward http.Handler) {
	request := parse(r)
	active := p.pick(request)
	if active != nil {
		if active.fault.Before != nil {
			active.fault.Before()
		}
		if active.fault.Hold {
			select {
			case <-active.removed:
			case <-r.Context().Done():
				return
			}
		}
		if active.fault.Drop {
			panic(http.ErrAbortHandler)
		}
		if active.fault.Status != 0 {
			refuse(w, active.fault)
			return
		}
	}
	if request.Verb == "watch" {
		ctx, cancel := context.WithCancel(r.Context())
		defer p.keepWatch(cancel)()
		r = r.WithContext(ctx)
	}
	if active != nil && (active.fault.LoseAnswer || active.fault.After != nil) {
		p.carryOut(w, r, forward, active.fault)
		return
	}
	forward.ServeHTTP(w, r)
}

// carryOut has the answer complete before anything of it is passed on. The call ends even where its caller goes.
func (p *Proxy) carryOut(w http.ResponseWriter, r *http.Request, forward http.Handler, fault Fault) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(r.Context()), time.Minute)
	defer cancel()
	answer := &recorder{header: http.Header{}, status: http.StatusOK}
	forward.ServeHTTP(answer, r.WithContext(ctx))
	if fault.After != nil {
		fault.After()
	}
	if fault.LoseAnswer {
		panic(http.ErrAbortHandler)
	}
	for key, values := range answer.header {
		w.Header()[key] = values
	}
	w.WriteHeader(answer.status)
	_, _ = w.Write(answer.body) // the caller may be gone
}

func (p *Proxy) pick(request Request) *Active {
	p.mu.Lock()
	defer p.mu.Unlock()
	kind := request.Verb + " " + request.Resource
	if request.Subresource != "" {
		kind += "/" + request.Subresource
	}
	p.counts[kind]++
	for _, active := range p.faults {
		if !active.fault.Match(request) {
			continue
		}
		active.seen++
		if active.seen <= active.fault.Skip || (active.fault.Times > 0 && active.hits >= active.fault.Times) {
			continue
		}
		active.hits++
		if active.hits == 1 {
			close(active.reached)
		}
		return active
	}
	return nil
}

func (p *Proxy) keepWatch(cancel context.CancelFunc) (forget func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	id := p.next
	p.next++
	p.watches[id] = cancel
	return func() {
		cancel()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.watches, id)
	}
}

func refuse(w http.ResponseWriter, fault Fault) {
	reason := fault.Reason
	if reason == "" {
		reason = http.StatusText(fault.Status)
	}
	w.Header().Set("Content-Type", "application/json")
	if fault.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(fault.RetryAfter))
	}
	w.WriteHeader(fault.Status)
	_ = json.NewEncoder(w).Encode(map[string]any{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": fault.Status, "reason": reason,
		"message": "refused by the proxy of the test",
	})
}

type recorder struct {
	header http.Header
	status int
	body   []byte
}

func (r *recorder) Header() http.Header    { return r.header }
func (r *recorder) WriteHeader(status int) { r.status = status }
func (r *recorder) Write(b []byte) (int, error) {
	r.body = append(r.body, b...)
	return len(b), nil
}
