package sdk

import (
	"errors"
	"fmt"
	"maps"
	"slices"
)

// Nesting is the collection that contains objects or blocks.
type Nesting uint8

const (
	// NestedSingle is at most one object or block.
	NestedSingle Nesting = iota
	NestedList
	NestedSet
	NestedMap
	// NestedGroup is one block; if it is absent, an object with empty values.
	NestedGroup
)

// Attribute is an attribute of a schema. At least one of Required, Optional, Computed and Default is
// set.
type Attribute struct {
	// Type is the type, unless Nested is set.
	Type Type
	// Nested are the attributes of objects whose attributes have properties of their own.
	Nested *Nested
	// Required: the configuration must set it.
	Required bool
	// Optional: the configuration may set it.
	Optional bool
	// Computed: the provider sets it, if the configuration does not.
	Computed bool
	// Default is the value if the configuration sets none. The attribute is optional and computed.
	Default Value
	// Sensitive: the value is not displayed.
	Sensitive bool
	// WriteOnly: the value is only in Context.Config, and is never stored.
	WriteOnly bool
	// ForceNew: a change of the value replaces the object.
	ForceNew bool
	// Stable: an update does not change the computed value.
	Stable      bool
	Description string
	// Deprecated is nil, or a message that names the alternative.
	Deprecated *string
	// Validate checks a known value that is not null. The error is the requirement: "must be even".
	Validate func(Value) error
}

// Nested are the objects of a nested attribute.
type Nested struct {
	Nesting    Nesting
	Attributes Attributes
}

// Attributes are attributes by name.
type Attributes map[string]Attribute

// Block is a nested block.
type Block struct {
	Nesting  Nesting
	Contents Schema
	// Minimum and Maximum are numbers of blocks; 0 is no limit.
	Minimum, Maximum uint64
	ForceNew         bool
}

// Schema is the contents of a block: of a resource, a data source, a provider or a nested block.
type Schema struct {
	Version     int64
	Description string
	Deprecated  *string
	Attributes  Attributes
	Blocks      map[string]Block
}

func (a Attribute) hasDefault() bool { return a.Default != nil }
func (a Attribute) isOptional() bool { return a.Optional || a.hasDefault() }
func (a Attribute) isComputed() bool { return a.Computed || a.hasDefault() }

func (a Attribute) valueType() Type {
	if a.Nested == nil {
		return a.Type
	}
	return collection(a.Nested.Nesting, ObjectOf(a.Nested.Attributes.types()))
}

func (a Attributes) types() map[string]Type {
	types := make(map[string]Type, len(a))
	for name, attribute := range a {
		types[name] = attribute.valueType()
	}
	return types
}

func collection(nesting Nesting, object Type) Type {
	switch nesting {
	case NestedList:
		return List(object)
	case NestedSet:
		return Set(object)
	case NestedMap:
		return Map(object)
	}
	return object
}

// Type returns the type of the objects that the schema describes.
func (s Schema) Type() Type {
	types := s.Attributes.types()
	for name, block := range s.Blocks {
		contents := block.Contents.Type()
		// The elements of a list or map whose types contain dynamic parts have different types.
		if (block.Nesting == NestedList || block.Nesting == NestedMap) && contents.isDynamic() {
			types[name] = Dynamic
		} else {
			types[name] = collection(block.Nesting, contents)
		}
	}
	return ObjectOf(types)
}

// check returns the contradictions in a schema.
func (s Schema) check(path string) error {
	all := []error{s.Attributes.check(path)}
	for _, name := range slices.Sorted(maps.Keys(s.Blocks)) {
		if _, found := s.Attributes[name]; found {
			all = append(all, fmt.Errorf("%s is both an attribute and a block", join(path, name)))
		}
		all = append(all, checkName(path, name), s.Blocks[name].Contents.check(join(path, name)))
	}
	return errors.Join(all...)
}

func (a Attributes) check(path string) error {
	var all []error
	for _, name := range slices.Sorted(maps.Keys(a)) {
		one, at := a[name], join(path, name)
		all = append(all, checkName(path, name))
		if !one.Required && !one.isOptional() && !one.isComputed() {
			all = append(all, fmt.Errorf("%s must be required, optional or computed", at))
		}
		if one.Required && (one.isOptional() || one.isComputed()) {
			all = append(all, fmt.Errorf("%s is required, so it is neither optional nor computed and has no default", at))
		}
		if one.WriteOnly && one.isComputed() {
			all = append(all, fmt.Errorf("%s is write-only, so it cannot be computed", at))
		}
		if one.Nested != nil {
			all = append(all, one.Nested.Attributes.check(at))
		} else if one.Default != nil {
			if _, err := Encode(one.Default, one.Type); err != nil {
				all = append(all, fmt.Errorf("the default of %s: %w", at, err))
			}
		}
	}
	return errors.Join(all...)
}

func checkName(path, name string) error {
	for index, character := range name {
		isDigit := character >= '0' && character <= '9'
		if !(character == '_' || character >= 'a' && character <= 'z' || isDigit && index > 0) {
			return fmt.Errorf("%q is not the name of an attribute or block", join(path, name))
		}
	}
	return nil
}
