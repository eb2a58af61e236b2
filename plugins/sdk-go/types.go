package sdk

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

const maxTypeDepth = 64

// Kind is the kind of a type.
type Kind uint8

const (
	KindString Kind = iota
	KindNumber
	KindBool
	// KindDynamic is any type: each value carries its own.
	KindDynamic
	KindList
	KindSet
	KindMap
	KindObject
	KindTuple
)

// Type is the type of a value.
type Type struct {
	Kind Kind
	// Element is the type of the elements of a list, set or map.
	Element *Type
	// Attributes are the types of the attributes of an object.
	Attributes map[string]Type
	// Elements are the types of the elements of a tuple.
	Elements []Type
}

var (
	String  = Type{Kind: KindString}
	Number  = Type{Kind: KindNumber}
	Bool    = Type{Kind: KindBool}
	Dynamic = Type{Kind: KindDynamic}
)

func List(element Type) Type { return Type{Kind: KindList, Element: &element} }
func Set(element Type) Type  { return Type{Kind: KindSet, Element: &element} }
func Map(element Type) Type  { return Type{Kind: KindMap, Element: &element} }

func ObjectOf(attributes map[string]Type) Type {
	return Type{Kind: KindObject, Attributes: attributes}
}

func TupleOf(elements ...Type) Type { return Type{Kind: KindTuple, Elements: elements} }

var kindNames = map[Kind]string{
	KindString: "string", KindNumber: "number", KindBool: "bool", KindDynamic: "dynamic", KindList: "list",
	KindSet: "set", KindMap: "map", KindObject: "object", KindTuple: "tuple",
}

// JSON returns the type in the protocol's JSON notation.
func (t Type) JSON() string {
	var text strings.Builder
	t.write(&text)
	return text.String()
}

func (t Type) write(text *strings.Builder) {
	switch t.Kind {
	case KindList, KindSet, KindMap:
		text.WriteString(`["` + kindNames[t.Kind] + `",`)
		t.Element.write(text)
		text.WriteByte(']')
	case KindObject:
		text.WriteString(`["object",{`)
		for index, name := range slices.Sorted(maps.Keys(t.Attributes)) {
			if index > 0 {
				text.WriteByte(',')
			}
			appendJSONString(text, name)
			text.WriteByte(':')
			t.Attributes[name].write(text)
		}
		text.WriteString("}]")
	case KindTuple:
		text.WriteString(`["tuple",[`)
		for index, element := range t.Elements {
			if index > 0 {
				text.WriteByte(',')
			}
			element.write(text)
		}
		text.WriteString("]]")
	default:
		text.WriteString(`"` + kindNames[t.Kind] + `"`)
	}
}

// String returns the type for messages.
func (t Type) String() string {
	switch t.Kind {
	case KindList, KindSet, KindMap:
		return kindNames[t.Kind] + " of " + t.Element.String()
	}
	return kindNames[t.Kind]
}

// ParseType parses a type in the protocol's JSON notation.
func ParseType(text []byte) (Type, error) {
	document, err := ParseJSON(text)
	if err != nil {
		return Type{}, err
	}
	return typeOf(document, 0)
}

func typeOf(document any, depth int) (Type, error) {
	if depth > maxTypeDepth {
		return Type{}, fmt.Errorf("a type has more than %d levels", maxTypeDepth)
	}
	invalid := fmt.Errorf("%v is not a type", document)
	if name, isName := document.(string); isName {
		for _, kind := range []Kind{KindString, KindNumber, KindBool, KindDynamic} {
			if kindNames[kind] == name {
				return Type{Kind: kind}, nil
			}
		}
		return Type{}, invalid
	}
	parts, isArray := document.([]any)
	if !isArray || len(parts) < 2 {
		return Type{}, invalid
	}
	switch name, _ := parts[0].(string); name {
	case "list", "set", "map":
		element, err := typeOf(parts[1], depth+1)
		kind := map[string]Kind{"list": KindList, "set": KindSet, "map": KindMap}[name]
		return Type{Kind: kind, Element: &element}, err
	case "tuple":
		inner, isArray := parts[1].([]any)
		if !isArray {
			return Type{}, invalid
		}
		elements := make([]Type, len(inner))
		for index, one := range inner {
			element, err := typeOf(one, depth+1)
			if err != nil {
				return Type{}, err
			}
			elements[index] = element
		}
		return TupleOf(elements...), nil
	case "object":
		inner, isObject := parts[1].(map[string]any)
		if !isObject {
			return Type{}, invalid
		}
		attributes := make(map[string]Type, len(inner))
		for name, one := range inner {
			attribute, err := typeOf(one, depth+1)
			if err != nil {
				return Type{}, err
			}
			attributes[name] = attribute
		}
		return ObjectOf(attributes), nil
	}
	return Type{}, invalid
}

func (t Type) isDynamic() bool {
	switch t.Kind {
	case KindDynamic:
		return true
	case KindList, KindSet, KindMap:
		return t.Element.isDynamic()
	case KindObject:
		for _, attribute := range t.Attributes {
			if attribute.isDynamic() {
				return true
			}
		}
	case KindTuple:
		return slices.ContainsFunc(t.Elements, Type.isDynamic)
	}
	return false
}
