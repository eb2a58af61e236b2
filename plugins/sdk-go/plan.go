package sdk

// planChange plans a resource from the proposed new state. The steps are: set defaults, and
// write-only values to null; if the result differs from the prior state, set every computed attribute
// that is null in the configuration to unknown; restore stable values, and find the attributes that
// require a replacement. The prior state of a create is nil.
func planChange(schema Schema, config, prior, proposed Value) (Value, []Path) {
	sides := counterparts{config, prior}
	start := position{}
	planned := walkContents(schema, sides, proposed, start, planVisit{attribute: setDefault})
	if !Same(planned, prior) {
		planned = walkContents(schema, sides, planned, start, planVisit{attribute: markUnknown})
	}
	var requiresReplace []Path
	compare := func(forceNew bool, sides counterparts, planned Value, path Path) {
		if forceNew && prior != nil && !Same(sides.prior, planned) {
			requiresReplace = append(requiresReplace, path)
		}
	}
	planned = walkContents(schema, sides, planned, start, planVisit{
		attribute: func(attribute Attribute, sides counterparts, planned Value, path Path) Value {
			if attribute.Stable && IsUnknown(planned) && sides.prior != nil && sides.config == nil {
				planned = sides.prior
			}
			compare(attribute.ForceNew, sides, planned, path)
			return planned
		},
		block: func(block Block, sides counterparts, planned Value, path Path) {
			compare(block.ForceNew, sides, planned, path)
		},
	})
	return planned, requiresReplace
}

func setDefault(attribute Attribute, sides counterparts, planned Value, _ Path) Value {
	if attribute.WriteOnly {
		return nil
	}
	if attribute.hasDefault() && sides.config == nil {
		return normalized(attribute.Default, attribute.valueType())
	}
	return planned
}

// normalized returns a value as Decode returns it.
func normalized(value Value, of Type) Value {
	if content, err := Encode(value, of); err == nil {
		if decoded, err := Decode(content, of); err == nil {
			return decoded
		}
	}
	return value
}

func markUnknown(attribute Attribute, sides counterparts, planned Value, _ Path) Value {
	if attribute.isComputed() && !attribute.hasDefault() && sides.config == nil {
		return Unknown{}
	}
	return planned
}

// planVisit is an operation on each attribute and block.
type planVisit struct {
	attribute func(Attribute, counterparts, Value, Path) Value
	block     func(Block, counterparts, Value, Path)
}

// counterparts are the configuration and the prior state that correspond to a planned value.
type counterparts struct{ config, prior Value }

func (c counterparts) member(name string) counterparts {
	return counterparts{member(c.config, name), member(c.prior, name)}
}

func (c counterparts) element(index int) counterparts {
	return counterparts{element(c.config, index), element(c.prior, index)}
}

func member(value Value, name string) Value {
	switch value := value.(type) {
	case DynamicValue:
		return member(value.Value, name)
	case Object:
		return value[name]
	}
	return nil
}

func element(value Value, index int) Value {
	if all := elements(value); index < len(all) {
		return all[index]
	}
	return nil
}

func elements(value Value) []Value {
	if dynamic, isDynamic := value.(DynamicValue); isDynamic {
		value = dynamic.Value
	}
	all, _ := value.([]Value)
	return all
}

// position is the path of a part. It ends at the outermost set.
type position struct {
	path  Path
	ended bool
}

func (p position) inside(next any) position {
	if p.ended {
		return p
	}
	return position{path: step(p.path, next)}
}

func walkContents(schema Schema, sides counterparts, planned Value, at position, visit planVisit) Value {
	object, isObject := planned.(Object)
	if !isObject {
		return planned
	}
	parts := walkAttributes(schema.Attributes, sides, object, at, visit)
	for name, block := range schema.Blocks {
		within, inside := sides.member(name), at.inside(name)
		if visit.block != nil {
			visit.block(block, within, parts[name], inside.path)
		}
		parts[name] = walkEach(block.Nesting, within, parts[name], inside,
			func(sides counterparts, planned Value, at position) Value {
				return walkContents(block.Contents, sides, planned, at, visit)
			})
	}
	return parts
}

func walkAttributes(attributes Attributes, sides counterparts, planned Object, at position, visit planVisit) Object {
	parts := planned.With(nil)
	for name, attribute := range attributes {
		within, inside := sides.member(name), at.inside(name)
		value := visit.attribute(attribute, within, parts[name], inside.path)
		if attribute.Nested != nil {
			value = walkEach(attribute.Nested.Nesting, within, value, inside,
				func(sides counterparts, planned Value, at position) Value {
					object, isObject := planned.(Object)
					if !isObject {
						return planned
					}
					return walkAttributes(attribute.Nested.Attributes, sides, object, at, visit)
				})
		}
		parts[name] = value
	}
	return parts
}

func walkEach(
	nesting Nesting, sides counterparts, planned Value, at position,
	change func(counterparts, Value, position) Value,
) Value {
	switch planned := planned.(type) {
	case DynamicValue:
		return DynamicValue{planned.Type, walkEach(nesting, sides, planned.Value, at, change)}
	case Object:
		if nesting != NestedMap {
			return change(sides, planned, at)
		}
		changed := make(Object, len(planned))
		for key, one := range planned {
			changed[key] = change(sides.member(key), one, at.inside(Key(key)))
		}
		return changed
	case []Value:
		changed := make([]Value, len(planned))
		configs, priors := unpaired(sides.config), unpaired(sides.prior)
		for index, one := range planned {
			if nesting != NestedSet {
				changed[index] = change(sides.element(index), one, at.inside(index))
				continue
			}
			config := configs.take(func(other Value) bool { return results(one, other) })
			var prior Value
			if config != nil {
				prior = priors.take(func(other Value) bool { return results(other, config) })
			}
			changed[index] = change(counterparts{config, prior}, one, position{at.path, true})
		}
		return changed
	}
	return planned
}

// setElements are the elements of a set that have not been paired with another element yet.
type setElements []Value

func unpaired(set Value) setElements { return append(setElements(nil), elements(set)...) }

func (s *setElements) take(matches func(Value) bool) Value {
	for index, value := range *s {
		if matches(value) {
			*s = append((*s)[:index], (*s)[index+1:]...)
			return value
		}
	}
	return nil
}

// results returns whether an object can result from a configuration: all values that the
// configuration sets are equal.
func results(value, config Value) bool {
	if config == nil {
		return true
	}
	object, isObject := value.(Object)
	configured, isConfigured := config.(Object)
	if !isObject || !isConfigured {
		return Same(value, config)
	}
	for name, one := range configured {
		if part, found := object[name]; !found || !results(part, one) {
			return false
		}
	}
	return true
}
