package main

import (
	"fmt"
	"strings"
)

// store returns an expression for a function `func(address uintptr, value T)`.
func (g *generator) store(ref typeRef) (string, error) { return g.access(ref, "store") }

// load returns an expression for a function `func(address uintptr) T`.
func (g *generator) load(ref typeRef) (string, error) { return g.access(ref, "load") }

func (g *generator) access(ref typeRef, verb string) (string, error) {
	ref, err := g.resolve(ref)
	if err != nil {
		return "", err
	}
	if !ref.isIndex {
		return verb + camel(ref.primitive), nil
	}
	kind, err := g.kindOf(ref.index)
	if err != nil {
		return "", err
	}
	switch {
	case kind.List != nil:
		if kind.List.primitive == "u8" {
			return verb + "Bytes", nil
		}
		inner, err := g.access(*kind.List, verb)
		if err != nil {
			return "", err
		}
		one, err := g.layout(*kind.List)
		return fmt.Sprintf("%sList(%d, %s)", verb, one.size, inner), err
	case kind.Option != nil:
		inner, err := g.access(*kind.Option, verb)
		if err != nil {
			return "", err
		}
		offset, err := g.payloadOffset([]typeRef{{}, *kind.Option})
		return fmt.Sprintf("%sOption(%d, %s)", verb, offset, inner), err
	case kind.Tuple != nil:
		first, err := g.access(kind.Tuple.Types[0], verb)
		if err != nil {
			return "", err
		}
		second, err := g.access(kind.Tuple.Types[1], verb)
		if err != nil {
			return "", err
		}
		offsets, err := g.offsets(kind.Tuple.Types)
		return fmt.Sprintf("%sPair(%d, %s, %s)", verb, offsets[1], first, second), err
	case kind.Handle != nil:
		if kind.Handle.Own == nil {
			return "", fmt.Errorf("a borrowed handle cannot be in memory")
		}
		name, err := g.named(*kind.Handle.Own)
		if err != nil {
			return "", err
		}
		return verb + name, g.need(verb+name, func() (string, error) { return handleAccess(verb, name), nil })
	}
	name, err := g.named(ref.index)
	if err != nil {
		return "", err
	}
	return verb + name, g.need(verb+name, func() (string, error) { return g.accessFunction(verb, name, kind) })
}

// need writes a function once.
func (g *generator) need(name string, write func() (string, error)) error {
	if g.written[name] {
		return nil
	}
	g.written[name] = true
	text, err := write()
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	g.memory.WriteString(text)
	return nil
}

func handleAccess(verb, name string) string {
	if verb == "store" {
		return fmt.Sprintf("func store%s(address uintptr, value *%s) { storeU32(address, value.take()) }\n\n", name, name)
	}
	return fmt.Sprintf("func load%s(address uintptr) *%s { return &%s{loadU32(address)} }\n\n", name, name, name)
}

func (g *generator) accessFunction(verb, name string, kind kind) (string, error) {
	var text strings.Builder
	isStore := verb == "store"
	if isStore {
		fmt.Fprintf(&text, "func store%s(address uintptr, value %s) {\n", name, name)
	} else {
		fmt.Fprintf(&text, "func load%s(address uintptr) (value %s) {\n", name, name)
	}
	part := func(ref typeRef, field string, offset int) error {
		function, err := g.access(ref, verb)
		if err != nil {
			return err
		}
		address := "address"
		if offset > 0 {
			address = fmt.Sprintf("address+%d", offset)
		}
		if isStore {
			fmt.Fprintf(&text, "\t%s(%s, value.%s)\n", function, address, field)
		} else {
			fmt.Fprintf(&text, "\tvalue.%s = %s(%s)\n", field, function, address)
		}
		return nil
	}
	switch {
	case kind.Record != nil:
		offsets, err := g.offsets(typesOf(kind.Record.Fields))
		if err != nil {
			return "", err
		}
		for index, one := range kind.Record.Fields {
			if err := part(one.Type, camel(one.Name), offsets[index]); err != nil {
				return "", err
			}
		}
	case kind.Enum != nil:
		if isStore {
			text.WriteString("\tstoreU8(address, uint8(value))\n")
		} else {
			fmt.Fprintf(&text, "\tvalue = %s(loadU8(address))\n", name)
		}
	case kind.Variant != nil:
		offset, err := g.payloadOffset(typesOf(kind.Variant.Cases))
		if err != nil {
			return "", err
		}
		if isStore {
			text.WriteString("\tstoreU8(address, uint8(value.Tag))\n")
		} else {
			fmt.Fprintf(&text, "\tvalue.Tag = %sTag(loadU8(address))\n", name)
		}
		text.WriteString("\tswitch value.Tag {\n")
		for _, one := range kind.Variant.Cases {
			if one.Type.isNone() {
				continue
			}
			fmt.Fprintf(&text, "\tcase %s%s:\n", name, camel(one.Name))
			if err := part(one.Type, camel(one.Name), offset); err != nil {
				return "", err
			}
		}
		text.WriteString("\t}\n")
	default:
		return "", fmt.Errorf("the generator does not support its kind")
	}
	if !isStore {
		text.WriteString("\treturn value\n")
	}
	text.WriteString("}\n\n")
	return text.String(), nil
}
