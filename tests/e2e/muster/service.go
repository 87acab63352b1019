package muster

import (
	"io"
	"net"
	"sync"
)

// Service leads connections to one replica, as the cluster's Service leads to the leader's pod. Safe for all.
type Service struct {
	Port     int
	listener net.Listener

	mu     sync.Mutex
	target string              // where new connections go; empty: nowhere
	open   map[net.Conn]string // and where they lead
}

// NewService listens on a port of its own; it leads nowhere yet.
func NewService() (*Service, error) { return NewServiceAt("127.0.0.1") }

// NewServiceAt does so at another address of this machine.
func NewServiceAt(host string) (*Service, error) {
	listener, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		return nil, err
	}
	s := &Service{Port: listener.Addr().(*net.TCPAddr).Port, listener: listener, open: map[net.Conn]string{}}
	go s.serve()
	return s, nil
}

// Lead sends new connections to this address. Open ones stay where they are, as with a real Service.
func (s *Service) Lead(target string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.target = target
}

// Close ends it and all its connections.
func (s *Service) Close() {
	s.listener.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.open {
		conn.Close()
	}
}

func (s *Service) serve() {
	for {
		conn, err := s.listener.Accept()
		if err != nil {
			return
		}
		go s.forward(conn)
	}
}

func (s *Service) forward(conn net.Conn) {
	defer conn.Close()
	s.mu.Lock()
	target := s.target
	s.open[conn] = target
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.open, conn)
		s.mu.Unlock()
	}()
	if target == "" {
		return
	}
	server, err := net.Dial("tcp", target)
	if err != nil {
		return
	}
	defer server.Close()
	var both sync.WaitGroup
	both.Add(2)
	pipe := func(to, from net.Conn) {
		defer both.Done()
		_, _ = io.Copy(to, from) // its end, however it comes, is the end of this direction
		to.Close()
		from.Close()
	}
	go pipe(server, conn)
	go pipe(conn, server)
	both.Wait()
}
