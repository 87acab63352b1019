// Package table writes the fields of Go types as `muster check` reads them: see
// config/kubernetes/README.md. It imports no type of Kubernetes, so that modules with other
// versions of them can use it.
package table

import (
	"fmt"
	"reflect"
	"regexp"
	"sort"
	"strings"
)

// Table is what one file of config/kubernetes/ says.
type Table struct {
	Head  string         // its first lines
	Kinds map[string]any // "batch/v1/Job": batch.Job{}. What is not reached from one is not there
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

// Types by the name that they have in the table.
type types map[string]reflect.Type

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

// word is how the table writes a type; structs are added to it.
func (all types) word(t reflect.Type) string {
	full := t.PkgPath() + "." + t.Name()
	if word, ok := words[full]; ok {
		return word
	}
	if t.Kind() == reflect.Struct && strings.HasSuffix(t.Name(), "Status") && !written[full] {
		return "any"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return all.word(t.Elem())
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int32, reflect.Int64:
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
		all[nameOf(t)] = t
		return nameOf(t)
	}
	panic(fmt.Sprintf("%v: the table has no word for it", t))
}

// fields are the lines of a struct, those of inlined ones among them.
func (all types) fields(t reflect.Type) []string {
	var lines []string
	for i := range t.NumField() {
		field := t.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		inner := field.Type
		if inner.Kind() == reflect.Pointer {
			inner = inner.Elem()
		}
		switch {
		case name == "" && field.Anonymous || strings.Contains(field.Tag.Get("json"), ",inline"):
			lines = append(lines, all.fields(inner)...)
		case name != "" && name != "-":
			lines = append(lines, fmt.Sprintf("    %s: %s\n", name, all.word(field.Type)))
		}
	}
	return lines
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
	all := types{}
	roots := map[string]string{}
	for kind, object := range table.Kinds {
		roots[kind] = all.word(reflect.TypeOf(object))
	}
	lines := map[string]string{}
	for len(lines) < len(all) { // fields add the types that they have
		for _, name := range sorted(all) {
			if _, done := lines[name]; done {
				continue
			}
			if table.isElsewhere(all[name]) {
				lines[name] = ""
				continue
			}
			lines[name] = strings.Join(all.fields(all[name]), "")
		}
	}
	text := table.Head + "kinds:\n"
	for _, kind := range sorted(roots) {
		text += "  " + kind + ": " + roots[kind] + "\n"
	}
	text += "types:\n"
	for _, name := range sorted(lines) {
		switch {
		case table.isElsewhere(all[name]):
		case lines[name] == "":
			text += "  " + name + ": {}\n"
		default:
			text += "  " + name + ":\n" + lines[name]
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
