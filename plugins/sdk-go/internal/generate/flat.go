package main

import (
	"fmt"
	"strings"
)

// code collects the statements of a function.
type code struct {
	text  strings.Builder
	names int
}

func (c *code) line(format string, arguments ...any) {
	fmt.Fprintf(&c.text, "\t"+format+"\n", arguments...)
}

func (c *code) name() string {
	c.names++
	return fmt.Sprintf("v%d", c.names)
}

// lower writes statements that convert a value to core values, and returns their expressions.
func (g *generator) lower(c *code, ref typeRef, value string) ([]string, error) {
	ref, err := g.resolve(ref)
	if err != nil {
		return nil, err
	}
	if !ref.isIndex {
		return lowerPrimitive(c, ref.primitive, value), nil
	}
	kind, err := g.kindOf(ref.index)
	if err != nil {
		return nil, err
	}
	switch {
	case kind.List != nil && kind.List.primitive == "u8":
		return lowerPair(c, "lowerBytes("+value+")"), nil
	case kind.List != nil:
		inner, err := g.store(*kind.List)
		if err != nil {
			return nil, err
		}
		one, err := g.layout(*kind.List)
		return lowerPair(c, fmt.Sprintf("lowerList(%s, %d, %s)", value, one.size, inner)), err
	case kind.Enum != nil:
		return []string{"uint32(" + value + ")"}, nil
	case kind.Handle != nil && kind.Handle.Borrow != nil:
		return []string{value + ".handle"}, nil
	case kind.Handle != nil:
		return []string{value + ".take()"}, nil
	case kind.Record != nil:
		var all []string
		for _, one := range kind.Record.Fields {
			flat, err := g.lower(c, one.Type, value+"."+camel(one.Name))
			if err != nil {
				return nil, err
			}
			all = append(all, flat...)
		}
		return all, nil
	case kind.Option != nil:
		return g.lowerOption(c, *kind.Option, value)
	case kind.Variant != nil:
		return g.lowerVariant(c, ref, kind.Variant.Cases, value)
	}
	return nil, fmt.Errorf("the generator cannot pass a value of type %d", ref.index)
}

func lowerPrimitive(c *code, name, value string) []string {
	switch name {
	case "string":
		return lowerPair(c, "lowerString("+value+")")
	case "bool":
		return []string{"lowerBool(" + value + ")"}
	case "u64", "s64":
		return []string{"uint64(" + value + ")"}
	}
	return []string{"uint32(" + value + ")"}
}

func lowerPair(c *code, call string) []string {
	pointer, length := c.name(), c.name()
	c.line("%s, %s := %s", pointer, length, call)
	return []string{pointer, length}
}

func (g *generator) lowerOption(c *code, inner typeRef, value string) ([]string, error) {
	one, err := g.choice([]typeRef{{}, inner})
	if err != nil {
		return nil, err
	}
	all := variables(c, one.flat)
	c.line("if %s != nil {", value)
	c.line("%s = 1", all[0])
	if err := g.lowerPayload(c, inner, "(*"+value+")", all[1:], one.flat[1:]); err != nil {
		return nil, err
	}
	c.line("}")
	return all, nil
}

func (g *generator) lowerVariant(c *code, ref typeRef, cases []field, value string) ([]string, error) {
	one, err := g.choice(typesOf(cases))
	if err != nil {
		return nil, err
	}
	name, err := g.named(ref.index)
	if err != nil {
		return nil, err
	}
	all := variables(c, one.flat)
	c.line("%s = uint32(%s.Tag)", all[0], value)
	c.line("switch %s.Tag {", value)
	for _, one := range cases {
		if one.Type.isNone() {
			continue
		}
		c.line("case %s%s:", name, camel(one.Name))
		flat := all[1:]
		layout, err := g.choice(typesOf(cases))
		if err != nil {
			return nil, err
		}
		if err := g.lowerPayload(c, one.Type, value+"."+camel(one.Name), flat, layout.flat[1:]); err != nil {
			return nil, err
		}
	}
	c.line("}")
	return all, nil
}

func (g *generator) lowerPayload(c *code, ref typeRef, value string, variables, cores []string) error {
	flat, err := g.lower(c, ref, value)
	if err != nil {
		return err
	}
	for index, expression := range flat {
		c.line("%s = %s(%s)", variables[index], cores[index], expression)
	}
	return nil
}

func variables(c *code, cores []string) []string {
	var all []string
	for _, core := range cores {
		name := c.name()
		c.line("var %s %s", name, core)
		all = append(all, name)
	}
	return all
}

// lift writes statements that convert core values to a value, and returns its expression.
func (g *generator) lift(c *code, ref typeRef, flat []string) (string, error) {
	ref, err := g.resolve(ref)
	if err != nil {
		return "", err
	}
	if !ref.isIndex {
		return liftPrimitive(ref.primitive, flat), nil
	}
	kind, err := g.kindOf(ref.index)
	if err != nil {
		return "", err
	}
	name, err := g.typeName(ref)
	if err != nil {
		return "", err
	}
	switch {
	case kind.List != nil && kind.List.primitive == "u8":
		return fmt.Sprintf("liftBytes(%s, %s)", flat[0], flat[1]), nil
	case kind.List != nil:
		inner, err := g.load(*kind.List)
		if err != nil {
			return "", err
		}
		one, err := g.layout(*kind.List)
		return fmt.Sprintf("liftList(%s, %s, %d, %s)", flat[0], flat[1], one.size, inner), err
	case kind.Enum != nil:
		return fmt.Sprintf("%s(%s)", name, flat[0]), nil
	case kind.Handle != nil && kind.Handle.Own != nil:
		return fmt.Sprintf("&%s{%s}", strings.TrimPrefix(name, "*"), flat[0]), nil
	case kind.Record != nil:
		value := c.name()
		c.line("var %s %s", value, name)
		for _, one := range kind.Record.Fields {
			layout, err := g.layout(one.Type)
			if err != nil {
				return "", err
			}
			part, err := g.lift(c, one.Type, flat[:len(layout.flat)])
			if err != nil {
				return "", err
			}
			c.line("%s.%s = %s", value, camel(one.Name), part)
			flat = flat[len(layout.flat):]
		}
		return value, nil
	case kind.Option != nil:
		value := c.name()
		c.line("var %s %s", value, name)
		c.line("if %s != 0 {", flat[0])
		inner := c.name()
		part, err := g.liftPayload(c, *kind.Option, flat[1:], []typeRef{{}, *kind.Option})
		if err != nil {
			return "", err
		}
		c.line("%s := %s", inner, part)
		c.line("%s = &%s", value, inner)
		c.line("}")
		return value, nil
	case kind.Variant != nil:
		value := c.name()
		c.line("var %s %s", value, name)
		c.line("%s.Tag = %sTag(%s)", value, name, flat[0])
		c.line("switch %s.Tag {", value)
		for _, one := range kind.Variant.Cases {
			if one.Type.isNone() {
				continue
			}
			c.line("case %s%s:", name, camel(one.Name))
			part, err := g.liftPayload(c, one.Type, flat[1:], typesOf(kind.Variant.Cases))
			if err != nil {
				return "", err
			}
			c.line("%s.%s = %s", value, camel(one.Name), part)
		}
		c.line("}")
		return value, nil
	}
	return "", fmt.Errorf("the generator cannot receive a value of type %d", ref.index)
}

func (g *generator) liftPayload(c *code, ref typeRef, flat []string, cases []typeRef) (string, error) {
	one, err := g.layout(ref)
	if err != nil {
		return "", err
	}
	joined, err := g.choice(cases)
	if err != nil {
		return "", err
	}
	var converted []string
	for index, core := range one.flat {
		if core == joined.flat[index+1] {
			converted = append(converted, flat[index])
		} else {
			converted = append(converted, fmt.Sprintf("%s(%s)", core, flat[index]))
		}
	}
	return g.lift(c, ref, converted)
}

func liftPrimitive(name string, flat []string) string {
	switch name {
	case "string":
		return fmt.Sprintf("liftString(%s, %s)", flat[0], flat[1])
	case "bool":
		return flat[0] + " != 0"
	}
	types := map[string]string{
		"u8": "uint8", "u16": "uint16", "u32": "uint32", "u64": "uint64",
		"s8": "int8", "s16": "int16", "s32": "int32", "s64": "int64",
	}
	return fmt.Sprintf("%s(%s)", types[name], flat[0])
}
