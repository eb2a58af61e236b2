package main

import "fmt"

// The layout of a type in memory and as core values, in the canonical ABI.
type layout struct {
	size, align int
	flat        []string
}

func alignTo(offset, align int) int { return (offset + align - 1) / align * align }

func (g *generator) layout(ref typeRef) (layout, error) {
	ref, err := g.resolve(ref)
	if err != nil {
		return layout{}, err
	}
	if !ref.isIndex {
		return primitiveLayout(ref.primitive)
	}
	kind, err := g.kindOf(ref.index)
	if err != nil {
		return layout{}, err
	}
	switch {
	case kind.Record != nil:
		return g.sequence(typesOf(kind.Record.Fields))
	case kind.Tuple != nil:
		return g.sequence(kind.Tuple.Types)
	case kind.List != nil:
		return layout{8, 4, []string{"uint32", "uint32"}}, nil
	case kind.Handle != nil:
		return layout{4, 4, []string{"uint32"}}, nil
	case kind.Enum != nil:
		return g.choice(make([]typeRef, len(kind.Enum.Cases)))
	case kind.Option != nil:
		return g.choice([]typeRef{{}, *kind.Option})
	case kind.Result != nil:
		return g.choice([]typeRef{kind.Result.Ok, kind.Result.Err})
	case kind.Variant != nil:
		return g.choice(typesOf(kind.Variant.Cases))
	}
	return layout{}, fmt.Errorf("type %d has a kind that the generator does not support", ref.index)
}

func primitiveLayout(name string) (layout, error) {
	switch name {
	case "bool", "u8", "s8":
		return layout{1, 1, []string{"uint32"}}, nil
	case "u16", "s16":
		return layout{2, 2, []string{"uint32"}}, nil
	case "u32", "s32":
		return layout{4, 4, []string{"uint32"}}, nil
	case "u64", "s64":
		return layout{8, 8, []string{"uint64"}}, nil
	case "string":
		return layout{8, 4, []string{"uint32", "uint32"}}, nil
	}
	return layout{}, fmt.Errorf("the generator does not support the type %q", name)
}

func (g *generator) sequence(types []typeRef) (layout, error) {
	result := layout{align: 1}
	for _, ref := range types {
		one, err := g.layout(ref)
		if err != nil {
			return layout{}, err
		}
		result.size = alignTo(result.size, one.align) + one.size
		result.align = max(result.align, one.align)
		result.flat = append(result.flat, one.flat...)
	}
	result.size = alignTo(result.size, result.align)
	return result, nil
}

// offsets returns the offset of each element of a sequence.
func (g *generator) offsets(types []typeRef) ([]int, error) {
	offset := 0
	var all []int
	for _, ref := range types {
		one, err := g.layout(ref)
		if err != nil {
			return nil, err
		}
		offset = alignTo(offset, one.align)
		all = append(all, offset)
		offset += one.size
	}
	return all, nil
}

// choice returns the layout of a variant with fewer than 257 cases, whose discriminant has one byte.
func (g *generator) choice(cases []typeRef) (layout, error) {
	if len(cases) > 256 {
		return layout{}, fmt.Errorf("a variant has %d cases", len(cases))
	}
	result := layout{align: 1}
	var payload []string
	for _, ref := range cases {
		if ref.isNone() {
			continue
		}
		one, err := g.layout(ref)
		if err != nil {
			return layout{}, err
		}
		result.size = max(result.size, one.size)
		result.align = max(result.align, one.align)
		for index, core := range one.flat {
			if index == len(payload) {
				payload = append(payload, core)
			} else if core != payload[index] {
				payload[index] = "uint64"
			}
		}
	}
	result.size = alignTo(alignTo(1, result.align)+result.size, result.align)
	result.flat = append([]string{"uint32"}, payload...)
	return result, nil
}

// payloadOffset returns the offset of the payload of a variant.
func (g *generator) payloadOffset(cases []typeRef) (int, error) {
	one, err := g.choice(cases)
	return alignTo(1, one.align), err
}

func typesOf(fields []field) []typeRef {
	var types []typeRef
	for _, one := range fields {
		types = append(types, one.Type)
	}
	return types
}
