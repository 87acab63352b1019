// Package table writes the fields of Go types as `muster check` reads them: see
// config/kubernetes/README.md. It imports no type of Kubernetes, so that modules with other
// versions of them can use it.
package table

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"slices"
	"sort"
	"strings"
)

// Table is what one file of config/kubernetes/ says.
type Table struct {
	Head  string         // its first lines
	Kinds map[string]any // "batch/v1/Job": batch.Job{}. What is not reached from one is not there
	// The same objects as another release has them: its fields are known, too.
	Others []any
	// What a type with a JSON of its own is written as; without it such a type is any.
	As map[reflect.Type]reflect.Type
	// Packages, by the beginnings of their paths, whose types another file has.
	Elsewhere []string
}

// What is written otherwise than its Go type says.
var words = map[string]string{
	"k8s.io/api/core/v1.ResourceList":                                    "resources",
	"k8s.io/apimachinery/pkg/api/resource.Quantity":                      "scalar",
	"k8s.io/apimachinery/pkg/util/intstr.IntOrString":                    "scalar",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Time":                          "text",
	"k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime":                     "text",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Duration":                      "text",
	"k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1":                      "any",
	"k8s.io/apimachinery/pkg/apis/meta/v1.Condition":                     "any",
	"k8s.io/apimachinery/pkg/apis/meta/v1.ManagedFieldsEntry":            "any",
	"k8s.io/apimachinery/pkg/runtime.RawExtension":                       "any",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON":      "any",
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1.JSON": "any",
}

// Whose status people write, in files of nodes.
var written = map[string]bool{"k8s.io/api/core/v1.NodeStatus": true}

// A field of a struct, and the word for its type.
type field struct{ name, word string }

// Structs as they are found.
type structs struct {
	as     map[reflect.Type]reflect.Type
	fields map[string][]field // by the name that a struct has in the table
	seen   map[reflect.Type]bool
	todo   []reflect.Type // whose fields are still to be looked at
}

var marshaler = reflect.TypeFor[json.Marshaler]()

var version = regexp.MustCompile(`^v[0-9]+$`)

// nameOf is the Go name, with its package where that is none of the two that all kinds use.
func nameOf(t reflect.Type) string {
	path := t.PkgPath()
	if path == "k8s.io/api/core/v1" || strings.HasSuffix(path, "apis/meta/v1") {
		return t.Name()
	}
	if own, is := strings.CutPrefix(path, "k8s.io/api/"); is {
		return strings.ReplaceAll(own, "/", ".") + "." + t.Name()
	}
	if own, is := strings.CutPrefix(path, "volcano.sh/apis/pkg/apis/"); is {
		return "volcano." + strings.ReplaceAll(own, "/", ".") + "." + t.Name() // Kubernetes has a scheduling.v1beta1, too
	}
	// The API's version, and what is before it: sigs.k8s.io/jobset/api/jobset/v1alpha2.
	parts := strings.Split(path, "/")
	last := len(parts) - 1
	before := last - 1
	for before > 0 && (parts[before] == "api" || parts[before] == "apis" || parts[before] == "pkg" ||
		version.MatchString(parts[before])) {
		before--
	}
	return parts[before] + "." + parts[last] + "." + t.Name()
}

// word is how the table writes a type; structs are added to those to be looked at.
func (all *structs) word(t reflect.Type) string {
	full := t.PkgPath() + "." + t.Name()
	if word, ok := words[full]; ok {
		return word
	}
	if other, ok := all.as[t]; ok {
		return all.word(other)
	}
	if t.Kind() == reflect.Struct && strings.HasSuffix(t.Name(), "Status") && !written[full] {
		return "any"
	}
	if t.Kind() != reflect.Pointer && reflect.PointerTo(t).Implements(marshaler) {
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return all.word(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint64:
		return "whole"
	case reflect.Float32, reflect.Float64:
		return "scalar"
	case reflect.Interface:
		return "any"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "text" // base64
		}
		return "[" + all.word(t.Elem()) + "]"
	case reflect.Map:
		return `{"*": ` + all.word(t.Elem()) + "}"
	case reflect.Struct:
		if !all.seen[t] {
			all.seen[t] = true
			all.todo = append(all.todo, t)
		}
		return nameOf(t)
	}
	panic(fmt.Sprintf("%v: the table has no word for it", t))
}

// of are the fields of a struct, those of inlined ones among them.
func (all *structs) of(t reflect.Type) []field {
	var fields []field
	for i := range t.NumField() {
		one := t.Field(i)
		name, _, _ := strings.Cut(one.Tag.Get("json"), ",")
		inner := one.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "" && one.Anonymous || strings.Contains(one.Tag.Get("json"), ",inline"):
			fields = append(fields, all.of(inner)...)
		case name != "" && name != "-":
			fields = append(fields, field{name, all.word(one.Type)})
		}
	}
	return fields
}

// add a struct's fields to those that another release's has. What the two write otherwise is any.
func (all *structs) add(t reflect.Type) {
	name := nameOf(t)
	known := all.fields[name]
	for _, one := range all.of(t) {
		at := slices.IndexFunc(known, func(other field) bool { return other.name == one.name })
		switch {
		case at < 0:
			known = append(known, one)
		case known[at].word != one.word:
			known[at].word = "any"
		}
	}
	all.fields[name] = known
}

// follow looks at all that is found, and at what that has.
func (all *structs) follow(table Table) {
	for len(all.todo) > 0 {
		t := all.todo[0]
		all.todo = all.todo[1:]
		if !table.isElsewhere(t) {
			all.add(t)
		}
	}
}

func (table Table) isElsewhere(t reflect.Type) bool {
	for _, path := range table.Elsewhere {
		if strings.HasPrefix(t.PkgPath(), path) {
			return true
		}
	}
	return false
}

// Text is the whole file.
func (table Table) Text() string {
	all := structs{as: table.As, fields: map[string][]field{}, seen: map[reflect.Type]bool{}}
	text := table.Head + "kinds:\n"
	for _, kind := range sorted(table.Kinds) {
		text += "  " + kind + ": " + all.word(reflect.TypeOf(table.Kinds[kind])) + "\n"
	}
	all.follow(table)
	for _, object := range table.Others {
		all.word(reflect.TypeOf(object))
	}
	all.follow(table)
	text += "types:\n"
	for _, name := range sorted(all.fields) {
		if len(all.fields[name]) == 0 {
			text += "  " + name + ": {}\n"
			continue
		}
		text += "  " + name + ":\n"
		for _, one := range all.fields[name] {
			text += fmt.Sprintf("    %s: %s\n", one.name, one.word)
		}
	}
	return text
}

func sorted[V any](from map[string]V) []string {
	names := make([]string, 0, len(from))
	for name := range from {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
