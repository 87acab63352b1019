package proxy

import (
	"net/http"
	"strings"
)

// Request is what a call asks of the API server.
type Request struct {
	Group       string // and version, "scheduling.k8s.io/v1beta1"; empty: v1
	Verb        string // get, list, watch, create, update, patch, delete
	Resource    string // pods, nodes, leases, ...
	Subresource string // status, binding, eviction or empty
	Namespace   string
	Name        string
}

// Match tells whether a fault is meant for a request.
type Match func(Request) bool

// The writes that carry a gang from its plan to its nodes.
var (
	Nomination  Match = func(r Request) bool { return r.Verb == "patch" && r.Resource == "pods" && r.Subresource == "status" }
	GateRemoval Match = func(r Request) bool { return r.Verb == "patch" && r.Resource == "pods" && r.Subresource == "" }
	Bind        Match = func(r Request) bool { return r.Verb == "create" && r.Subresource == "binding" }
	Eviction    Match = func(r Request) bool { return r.Verb == "create" && r.Subresource == "eviction" }
	LeaseCall   Match = func(r Request) bool { return r.Resource == "leases" }
	Watch       Match = func(r Request) bool { return r.Verb == "watch" }
	Write       Match = func(r Request) bool { return r.Verb != "get" && r.Verb != "list" && r.Verb != "watch" }
)

// In narrows a match to a namespace.
func (m Match) In(namespace string) Match {
	return func(r Request) bool { return r.Namespace == namespace && m(r) }
}

// Of matches everything in one version of an API group, its discovery too.
func Of(group string) Match {
	return func(r Request) bool { return r.Group == group }
}

// WatchOf matches watches of one resource.
func WatchOf(resource string) Match {
	return func(r Request) bool { return r.Verb == "watch" && r.Resource == resource }
}

func parse(r *http.Request) Request {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	var out Request
	switch {
	case len(parts) >= 2 && parts[0] == "api":
		parts = parts[2:]
	case len(parts) >= 3 && parts[0] == "apis":
		out.Group = parts[1] + "/" + parts[2]
		parts = parts[3:]
	default:
		return Request{Verb: "get"}
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		out.Namespace = parts[1]
		parts = parts[2:]
	}
	for i, field := range []*string{&out.Resource, &out.Name, &out.Subresource} {
		if i < len(parts) {
			*field = parts[i]
		}
	}
	watching := r.URL.Query().Get("watch")
	switch {
	case r.Method == http.MethodGet && (watching == "1" || watching == "true"):
		out.Verb = "watch"
	case r.Method == http.MethodGet && out.Name == "":
		out.Verb = "list"
	default:
		out.Verb = map[string]string{"GET": "get", "POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}[r.Method]
	}
	return out
}
