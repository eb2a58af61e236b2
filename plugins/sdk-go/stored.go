package sdk

import "fmt"

// parseState parses a stored state without loss of precision.
func parseState(content []byte) (map[string]any, error) {
	document, err := ParseJSON(content)
	if err != nil {
		return nil, fmt.Errorf("the stored state: %w", err)
	}
	state, isObject := document.(map[string]any)
	if !isObject {
		return nil, mismatch("", "the stored state is not an object")
	}
	return state, nil
}

// fromJSON converts parsed JSON to a value of a type, in the encoding of states.
func fromJSON(document any, of Type, path string) (Value, error) {
	switch document := document.(type) {
	case nil:
		return nil, nil
	case []any:
		if of.Kind == KindList || of.Kind == KindSet || of.Kind == KindTuple && len(of.Elements) == len(document) {
			values := make([]Value, len(document))
			for index, one := range document {
				element := of.Element
				if of.Kind == KindTuple {
					element = &of.Elements[index]
				}
				value, err := fromJSON(one, *element, fmt.Sprintf("%s[%d]", path, index))
				if err != nil {
					return nil, err
				}
				values[index] = value
			}
			return values, nil
		}
	case map[string]any:
		return fromJSONObject(document, of, path)
	case string:
		switch {
		case of.Kind == KindString:
			return document, nil
		case of.Kind == KindNumber:
			return parseNumber(document)
		case of.Kind == KindBool && (document == "true" || document == "1"):
			return true, nil
		case of.Kind == KindBool && (document == "false" || document == "0"):
			return false, nil
		}
	case bool:
		if of.Kind == KindBool {
			return document, nil
		}
		if of.Kind == KindString {
			return fmt.Sprint(document), nil
		}
	default:
		text, isNumber := numberText(document)
		if isNumber && of.Kind == KindNumber {
			return parseNumber(text)
		}
		if isNumber && of.Kind == KindString {
			return text, nil
		}
	}
	return nil, mismatch(path, "the stored value is not a %s", of)
}

func fromJSONObject(document map[string]any, of Type, path string) (Value, error) {
	switch of.Kind {
	case KindMap, KindObject:
		values := make(Object, len(document))
		for name, one := range document {
			element, at := of.Element, fmt.Sprintf("%s[%q]", path, name)
			if of.Kind == KindObject {
				attribute, found := of.Attributes[name]
				if !found {
					return nil, mismatch(path, "the schema has no attribute %q", name)
				}
				element, at = &attribute, join(path, name)
			}
			value, err := fromJSON(one, *element, at)
			if err != nil {
				return nil, err
			}
			values[name] = value
		}
		return values, nil
	case KindDynamic:
		if len(document) != 2 {
			break
		}
		inner, err := typeOf(document["type"], 0)
		if err != nil {
			return nil, err
		}
		value, err := fromJSON(document["value"], inner, path)
		return DynamicValue{inner, value}, err
	}
	return nil, mismatch(path, "the stored value is not a %s", of)
}
