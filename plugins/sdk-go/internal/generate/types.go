package main

import (
	"fmt"
	"strings"
)

// typeName returns the Go type of a reference, and declares it if it has a name.
func (g *generator) typeName(ref typeRef) (string, error) {
	ref, err := g.resolve(ref)
	if err != nil {
		return "", err
	}
	if !ref.isIndex {
		names := map[string]string{
			"bool": "bool", "string": "string", "u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
			"s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
		}
		if name, found := names[ref.primitive]; found {
			return name, nil
		}
		return "", fmt.Errorf("the generator does not support the type %q", ref.primitive)
	}
	kind, err := g.kindOf(ref.index)
	if err != nil {
		return "", err
	}
	switch {
	case kind.List != nil:
		inner, err := g.typeName(*kind.List)
		return "[]" + inner, err
	case kind.Option != nil:
		inner, err := g.typeName(*kind.Option)
		return "*" + inner, err
	case kind.Tuple != nil:
		if len(kind.Tuple.Types) != 2 {
			return "", fmt.Errorf("the generator supports only tuples of 2 elements")
		}
		first, err := g.typeName(kind.Tuple.Types[0])
		if err != nil {
			return "", err
		}
		second, err := g.typeName(kind.Tuple.Types[1])
		return fmt.Sprintf("Pair[%s, %s]", first, second), err
	case kind.Handle != nil:
		index := kind.Handle.Own
		if index == nil {
			index = kind.Handle.Borrow
		}
		inner, err := g.named(*index)
		return "*" + inner, err
	}
	return g.named(ref.index)
}

// named returns the name of a record, variant, enum or resource, and declares it.
func (g *generator) named(index int) (string, error) {
	if name, found := g.names[index]; found {
		return name, nil
	}
	entry := g.Types[index]
	if entry.Name == nil || entry.Owner == nil || entry.Owner.Interface == nil {
		return "", fmt.Errorf("type %d has no name", index)
	}
	owner := g.Interfaces[*entry.Owner.Interface]
	name := camel(*entry.Name)
	// The types of interfaces with functions have short names, such as `request`.
	if prefix := camel(owner.Name); len(owner.Functions) > 0 && !strings.HasPrefix(name, prefix) {
		name = prefix + name
	}
	for other, taken := range g.names {
		if taken == name {
			return "", fmt.Errorf("types %d and %d are both %s", other, index, name)
		}
	}
	g.names[index] = name
	kind, err := g.kindOf(index)
	if err != nil {
		return "", err
	}
	text, err := g.declaration(name, entry, kind)
	if err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	g.types.WriteString(text)
	return name, nil
}

func (g *generator) declaration(name string, entry typeEntry, kind kind) (string, error) {
	var text strings.Builder
	text.WriteString(comment(name+": "+entry.Docs.Contents, ""))
	switch {
	case kind.isResource:
		fmt.Fprintf(&text, "type %s struct{ handle uint32 }\n\n", name)
	case kind.Record != nil:
		fmt.Fprintf(&text, "type %s struct {\n", name)
		if err := g.fields(&text, kind.Record.Fields); err != nil {
			return "", err
		}
		text.WriteString("}\n\n")
	case kind.Enum != nil:
		fmt.Fprintf(&text, "type %s uint8\n\n", name)
		constants(&text, name, name, kind.Enum.Cases)
	case kind.Variant != nil:
		fmt.Fprintf(&text, "type %s struct {\n\tTag %sTag\n", name, name)
		var payloads []field
		for _, one := range kind.Variant.Cases {
			if !one.Type.isNone() {
				payloads = append(payloads, one)
			}
		}
		if err := g.fields(&text, payloads); err != nil {
			return "", err
		}
		fmt.Fprintf(&text, "}\n\n// %sTag is the case of a %s.\ntype %sTag uint8\n\n", name, name, name)
		constants(&text, name, name+"Tag", kind.Variant.Cases)
	default:
		return "", fmt.Errorf("the generator does not support its kind")
	}
	return text.String(), nil
}

func (g *generator) fields(text *strings.Builder, fields []field) error {
	for _, one := range fields {
		inner, err := g.typeName(one.Type)
		if err != nil {
			return err
		}
		text.WriteString(comment(one.Docs.Contents, "\t"))
		fmt.Fprintf(text, "\t%s %s\n", camel(one.Name), inner)
	}
	return nil
}

func constants(text *strings.Builder, prefix, name string, cases []field) {
	text.WriteString("const (\n")
	for index, one := range cases {
		text.WriteString(comment(one.Docs.Contents, "\t"))
		fmt.Fprintf(text, "\t%s%s %s = %d\n", prefix, camel(one.Name), name, index)
	}
	text.WriteString(")\n\n")
}
