package sdk

import (
	"fmt"
	"strconv"
)

// checkConfig returns the diagnostics of a configuration, which may contain unknown values.
func checkConfig(schema Schema, config Value, writeOnlyAllowed bool) []Diagnostic {
	walk := configCheck{writeOnlyAllowed: writeOnlyAllowed}
	if object, isObject := config.(Object); isObject {
		walk.contents(schema, object, nil)
	}
	return walk.diagnostics
}

type configCheck struct {
	writeOnlyAllowed bool
	diagnostics      []Diagnostic
}

func (c *configCheck) contents(schema Schema, config Object, path Path) {
	c.attributes(schema.Attributes, config, path)
	for name, block := range schema.Blocks {
		at := step(path, name)
		value := config[name]
		if dynamic, isDynamic := value.(DynamicValue); isDynamic {
			value = dynamic.Value
		}
		if IsUnknown(value) {
			continue
		}
		count := uint64(0)
		if elements, isList := value.([]Value); isList {
			count = uint64(len(elements))
		} else if value != nil {
			count = 1
		}
		if count < block.Minimum {
			c.report("Insufficient Blocks", fmt.Sprintf("At least %d %q block(s) are required.", block.Minimum, name), at)
		}
		if block.Maximum > 0 && count > block.Maximum {
			c.report("Too Many Blocks", fmt.Sprintf("At most %d %q block(s) are allowed.", block.Maximum, name), at)
		}
		eachObject(block.Nesting, value, at, func(object Object, path Path) { c.contents(block.Contents, object, path) })
	}
}

func (c *configCheck) attributes(attributes Attributes, config Object, path Path) {
	for name, attribute := range attributes {
		c.attribute(name, attribute, config[name], step(path, name))
	}
}

func (c *configCheck) attribute(name string, attribute Attribute, value Value, path Path) {
	if value == nil {
		if attribute.Required {
			c.report("Missing Configuration for Required Attribute", fmt.Sprintf("The attribute %q must be set.", name), path)
		}
		return
	}
	if !attribute.Required && !attribute.isOptional() {
		c.report("Invalid Configuration for Read-Only Attribute", fmt.Sprintf("Only the provider can set the attribute %q.", name), path)
	}
	if attribute.WriteOnly && !c.writeOnlyAllowed {
		c.report("WriteOnly Attribute Not Allowed",
			fmt.Sprintf("The attribute %q is write-only, which needs Terraform 1.11 or later.", name), path)
	}
	if IsUnknown(value) {
		return
	}
	if attribute.Validate != nil {
		if err := attribute.Validate(value); err != nil {
			c.report("Invalid Attribute Value", fmt.Sprintf("Attribute %s %v, got: %s", path, err, shown(value)), path)
		}
	}
	if attribute.Nested != nil {
		inner := attribute.Nested.Attributes
		eachObject(attribute.Nested.Nesting, value, path, func(object Object, path Path) { c.attributes(inner, object, path) })
	}
}

func (c *configCheck) report(summary, detail string, path Path) {
	c.diagnostics = append(c.diagnostics, Diagnostic{SeverityError, summary, detail, path})
}

func shown(value Value) string {
	if text, isString := value.(string); isString {
		return strconv.Quote(text)
	}
	if text, isNumber := numberText(value); isNumber {
		return text
	}
	return fmt.Sprint(value)
}

func eachObject(nesting Nesting, value Value, path Path, visit func(Object, Path)) {
	switch value := value.(type) {
	case Object:
		if nesting != NestedMap {
			visit(value, path)
			return
		}
		for key, one := range value {
			if object, isObject := one.(Object); isObject {
				visit(object, step(path, Key(key)))
			}
		}
	case []Value:
		for index, one := range value {
			object, isObject := one.(Object)
			// The path of an element of a set is the path of the set.
			if isObject && nesting == NestedSet {
				visit(object, path)
			} else if isObject {
				visit(object, step(path, index))
			}
		}
	}
}

// step returns a path that does not share memory with the other paths of its parent.
func step(path Path, next any) Path {
	return append(path[:len(path):len(path)], next)
}
