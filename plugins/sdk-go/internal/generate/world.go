// Command generate writes the Go bindings of a world of the package `wardian:plugin`.
//
//	wasm-tools component wit --json ../../wit | go run ./internal/generate sdk-provider-plugin bindings
package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Document is the output of `wasm-tools component wit --json`.
type document struct {
	Worlds     []world     `json:"worlds"`
	Interfaces []wit       `json:"interfaces"`
	Types      []typeEntry `json:"types"`
	Packages   []struct {
		Name string `json:"name"`
	} `json:"packages"`
}

type world struct {
	Name    string          `json:"name"`
	Imports json.RawMessage `json:"imports"`
	Exports json.RawMessage `json:"exports"`
}

type wit struct {
	Name      string              `json:"name"`
	Types     map[string]int      `json:"types"`
	Functions map[string]function `json:"functions"`
	Docs      docs                `json:"docs"`
	Package   int                 `json:"package"`
}

type function struct {
	Name   string  `json:"name"`
	Kind   any     `json:"kind"`
	Params []field `json:"params"`
	Result typeRef `json:"result"`
	Docs   docs    `json:"docs"`
}

type field struct {
	Name string  `json:"name"`
	Type typeRef `json:"type"`
	Docs docs    `json:"docs"`
}

type docs struct {
	Contents string `json:"contents"`
}

// A typeRef is the name of a primitive type, the index of a type, or null.
type typeRef struct {
	primitive string
	index     int
	isIndex   bool
}

func (r *typeRef) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil
	}
	if json.Unmarshal(data, &r.index) == nil {
		r.isIndex = true
		return nil
	}
	return json.Unmarshal(data, &r.primitive)
}

func (r typeRef) isNone() bool { return !r.isIndex && r.primitive == "" }

type typeEntry struct {
	Name  *string         `json:"name"`
	Kind  json.RawMessage `json:"kind"`
	Owner *struct {
		Interface *int `json:"interface"`
	} `json:"owner"`
	Docs docs `json:"docs"`
}

// kind is the decoded kind of a type: exactly one part is set.
type kind struct {
	Record *struct {
		Fields []field `json:"fields"`
	} `json:"record"`
	Variant *struct {
		Cases []field `json:"cases"`
	} `json:"variant"`
	Enum *struct {
		Cases []field `json:"cases"`
	} `json:"enum"`
	Tuple *struct {
		Types []typeRef `json:"types"`
	} `json:"tuple"`
	List   *typeRef `json:"list"`
	Option *typeRef `json:"option"`
	Alias  *typeRef `json:"type"`
	Result *struct {
		Ok  typeRef `json:"ok"`
		Err typeRef `json:"err"`
	} `json:"result"`
	Handle *struct {
		Own    *int `json:"own"`
		Borrow *int `json:"borrow"`
	} `json:"handle"`
	isResource bool
}

func (d *document) kindOf(index int) (kind, error) {
	var result kind
	raw := d.Types[index].Kind
	if string(raw) == `"resource"` {
		result.isResource = true
		return result, nil
	}
	err := json.Unmarshal(raw, &result)
	return result, err
}

// resolve follows aliases.
func (d *document) resolve(ref typeRef) (typeRef, error) {
	for ref.isIndex {
		kind, err := d.kindOf(ref.index)
		if err != nil {
			return ref, err
		}
		if kind.Alias == nil {
			return ref, nil
		}
		ref = *kind.Alias
	}
	return ref, nil
}

func (d *document) world(name string) (imports, exports []int, err error) {
	index := slices.IndexFunc(d.Worlds, func(one world) bool { return one.Name == name })
	if index < 0 {
		return nil, nil, fmt.Errorf("there is no world %q", name)
	}
	if imports, err = interfacesOf(d.Worlds[index].Imports); err != nil {
		return nil, nil, err
	}
	exports, err = interfacesOf(d.Worlds[index].Exports)
	return imports, exports, err
}

func interfacesOf(raw json.RawMessage) ([]int, error) {
	var items map[string]struct {
		Interface *struct {
			ID int `json:"id"`
		} `json:"interface"`
	}
	if err := json.Unmarshal(raw, &items); err != nil {
		return nil, err
	}
	var all []int
	for name, item := range items {
		if item.Interface == nil {
			return nil, fmt.Errorf("%s is not an interface", name)
		}
		all = append(all, item.Interface.ID)
	}
	slices.Sort(all)
	return all, nil
}

// module returns the name of an interface in imports and exports.
func (d *document) module(one wit) string {
	name, version, _ := strings.Cut(d.Packages[one.Package].Name, "@")
	return name + "/" + one.Name + "@" + version
}

// camel returns a name of the interface in Go's notation.
func camel(name string) string {
	var result strings.Builder
	for _, word := range strings.Split(name, "-") {
		if word == "id" || word == "json" || word == "url" || word == "http" {
			result.WriteString(strings.ToUpper(word))
		} else if word != "" {
			result.WriteString(strings.ToUpper(word[:1]) + word[1:])
		}
	}
	return result.String()
}

func lowerCamel(name string) string {
	words := strings.SplitN(name, "-", 2)
	if len(words) == 1 {
		return escape(words[0])
	}
	return words[0] + camel(words[1])
}

func escape(name string) string {
	if slices.Contains([]string{"type", "func", "range", "map", "interface", "package", "string"}, name) {
		return name + "_"
	}
	return name
}

func comment(text, indent string) string {
	if text == "" {
		return ""
	}
	return indent + "// " + strings.ReplaceAll(text, "\n", "\n"+indent+"// ") + "\n"
}
