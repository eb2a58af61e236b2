package sdk

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"slices"
	"strings"
)

const (
	maxDepth           = 128
	maxRefinementBytes = 1024
	refinementCode     = 12
)

// MismatchError reports a value that does not fit its type.
type MismatchError struct {
	Path    string
	Message string
}

func (e *MismatchError) Error() string {
	if e.Path == "" {
		return e.Message
	}
	return e.Path + ": " + e.Message
}

func mismatch(path, format string, arguments ...any) error {
	return &MismatchError{path, fmt.Sprintf(format, arguments...)}
}

// Decode decodes a value of a type from the MessagePack encoding of the plugin protocol. No bytes are
// null.
func Decode(content []byte, of Type) (Value, error) {
	if len(content) == 0 {
		return nil, nil
	}
	reader := messageReader{content}
	value, err := read(&reader, of, "", 0)
	if err == nil && len(reader.rest) > 0 {
		err = mismatch("", "there are bytes after the value")
	}
	return value, err
}

func read(reader *messageReader, of Type, path string, depth int) (Value, error) {
	if depth > maxDepth {
		return nil, mismatch(path, "the value has more than %d levels", maxDepth)
	}
	item, err := reader.next()
	if err != nil {
		return nil, err
	}
	switch item := item.(type) {
	case nil:
		return nil, nil
	case extension:
		if item.code != refinementCode || len(item.content) <= 1 {
			return Unknown{}, nil
		}
		if len(item.content) > maxRefinementBytes {
			return nil, mismatch(path, "the refinements of an unknown value are too long")
		}
		return Unknown{item.content}, nil
	case arrayHeader:
		return readArray(reader, of, int(item), path, depth)
	case mapHeader:
		return readMap(reader, of, int(item), path, depth)
	}
	return readPrimitive(item, of, path)
}

func readArray(reader *messageReader, of Type, length int, path string, depth int) (Value, error) {
	switch {
	case of.Kind == KindDynamic && length == 2:
		return readDynamic(reader, path, depth)
	case of.Kind == KindTuple && len(of.Elements) != length:
		return nil, mismatch(path, "a tuple of %d elements has %d", len(of.Elements), length)
	case of.Kind != KindTuple && of.Kind != KindList && of.Kind != KindSet:
		return nil, mismatch(path, "an array is not a %s", of)
	}
	values := make([]Value, length)
	for index := range values {
		element := of.Element
		if of.Kind == KindTuple {
			element = &of.Elements[index]
		}
		value, err := read(reader, *element, fmt.Sprintf("%s[%d]", path, index), depth+1)
		if err != nil {
			return nil, err
		}
		values[index] = value
	}
	return values, nil
}

func readDynamic(reader *messageReader, path string, depth int) (Value, error) {
	item, err := reader.next()
	if err != nil {
		return nil, err
	}
	var notation string
	switch item := item.(type) {
	case binaryItem:
		notation = string(item)
	case string:
		notation = item
	default:
		return nil, mismatch(path, "a dynamic value has no type")
	}
	of, err := ParseType([]byte(notation))
	if err != nil {
		return nil, err
	}
	value, err := read(reader, of, path, depth+1)
	return DynamicValue{of, value}, err
}

func readMap(reader *messageReader, of Type, length int, path string, depth int) (Value, error) {
	if of.Kind != KindMap && of.Kind != KindObject {
		return nil, mismatch(path, "a map is not a %s", of)
	}
	values := make(Object, length)
	for range length {
		item, err := reader.next()
		if err != nil {
			return nil, err
		}
		var key string
		switch item := item.(type) {
		case string:
			key = item
		case binaryItem:
			key = string(item)
		default:
			return nil, mismatch(path, "a key is not a string")
		}
		element, at := of.Element, fmt.Sprintf("%s[%q]", path, key)
		if of.Kind == KindObject {
			attribute, found := of.Attributes[key]
			if !found {
				return nil, mismatch(path, "there is no attribute %q", key)
			}
			element, at = &attribute, join(path, key)
		}
		if values[key], err = read(reader, *element, at, depth+1); err != nil {
			return nil, err
		}
	}
	if of.Kind == KindObject && len(values) != len(of.Attributes) {
		return nil, mismatch(path, "an object of %d attributes has %d", len(of.Attributes), length)
	}
	return values, nil
}

func readPrimitive(item any, of Type, path string) (Value, error) {
	switch item := item.(type) {
	case bool:
		if of.Kind == KindBool {
			return item, nil
		}
	case string:
		if of.Kind == KindString {
			return item, nil
		}
		if of.Kind == KindNumber {
			return parseNumber(item)
		}
	case binaryItem:
		if of.Kind == KindString {
			return string(item), nil
		}
	case int64:
		if of.Kind == KindNumber {
			return item, nil
		}
	case uint64:
		if of.Kind == KindNumber {
			return new(big.Int).SetUint64(item), nil
		}
	case float64:
		if of.Kind == KindNumber && !math.IsNaN(item) {
			if item == math.Trunc(item) && math.Abs(item) < 1<<53 {
				return int64(item), nil
			}
			return item, nil
		}
	}
	return nil, mismatch(path, "%T is not a %s", item, of)
}

// Encode encodes a value of a type.
func Encode(value Value, of Type) ([]byte, error) {
	var writer messageWriter
	err := write(&writer, value, of, "", 0)
	return writer.bytes, err
}

func write(writer *messageWriter, value Value, of Type, path string, depth int) error {
	if depth > maxDepth {
		return mismatch(path, "the value has more than %d levels", maxDepth)
	}
	switch value := value.(type) {
	case nil:
		writer.nil()
		return nil
	case Unknown:
		if value.refinement == "" || of.Kind == KindDynamic {
			writer.extension(0, "\x00")
		} else {
			writer.extension(refinementCode, value.refinement)
		}
		return nil
	}
	switch of.Kind {
	case KindDynamic:
		dynamic, isDynamic := value.(DynamicValue)
		if !isDynamic {
			return mismatch(path, "a value of type dynamic must be a DynamicValue")
		}
		if dynamic.Type.Kind != KindDynamic {
			writer.arrayHeader(2)
			writer.binary(dynamic.Type.JSON())
		}
		return write(writer, dynamic.Value, dynamic.Type, path, depth+1)
	case KindList, KindSet, KindTuple:
		return writeArray(writer, value, of, path, depth)
	case KindMap, KindObject:
		return writeMap(writer, value, of, path, depth)
	case KindString:
		if text, isString := value.(string); isString {
			writer.string(text)
			return nil
		}
	case KindBool:
		if boolean, isBool := value.(bool); isBool {
			writer.bool(boolean)
			return nil
		}
	case KindNumber:
		return writeNumber(writer, value, path)
	}
	return mismatch(path, "%T is not a %s", value, of)
}

func writeNumber(writer *messageWriter, value Value, path string) error {
	if float, isFloat := value.(float64); isFloat {
		if math.IsInf(float, 0) || float != math.Trunc(float) && isExactFloat(float) {
			writer.float(float)
			return nil
		}
	}
	text, isNumber := numberText(value)
	if !isNumber {
		return mismatch(path, "%T is not a number", value)
	}
	if whole, err := parseNumber(text); err == nil {
		if small, isSmall := whole.(int64); isSmall {
			writer.integer(small)
			return nil
		}
	}
	writer.string(text)
	return nil
}

func writeArray(writer *messageWriter, value Value, of Type, path string, depth int) error {
	values, isList := value.([]Value)
	if texts, isTexts := value.([]string); isTexts {
		isList = true
		for _, text := range texts {
			values = append(values, text)
		}
	}
	if !isList {
		return mismatch(path, "%T is not a %s", value, of)
	}
	if of.Kind == KindTuple && len(of.Elements) != len(values) {
		return mismatch(path, "a tuple of %d elements has %d", len(of.Elements), len(values))
	}
	writer.arrayHeader(len(values))
	for index, one := range values {
		element := of.Element
		if of.Kind == KindTuple {
			element = &of.Elements[index]
		}
		if err := write(writer, one, *element, fmt.Sprintf("%s[%d]", path, index), depth+1); err != nil {
			return err
		}
	}
	return nil
}

func writeMap(writer *messageWriter, value Value, of Type, path string, depth int) error {
	values, isObject := value.(Object)
	switch other := value.(type) {
	case map[string]Value:
		values, isObject = other, true
	case map[string]string:
		values, isObject = make(Object, len(other)), true
		for key, text := range other {
			values[key] = text
		}
	}
	if !isObject {
		return mismatch(path, "%T is not a %s", value, of)
	}
	if of.Kind == KindMap {
		writer.mapHeader(len(values))
		for _, key := range slices.SortedFunc(maps.Keys(values), strings.Compare) {
			writer.string(key)
			if err := write(writer, values[key], *of.Element, fmt.Sprintf("%s[%q]", path, key), depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	for name := range values {
		if _, found := of.Attributes[name]; !found {
			return mismatch(path, "there is no attribute %q", name)
		}
	}
	writer.mapHeader(len(of.Attributes))
	for _, name := range slices.Sorted(maps.Keys(of.Attributes)) {
		writer.string(name)
		if err := write(writer, values[name], of.Attributes[name], join(path, name), depth+1); err != nil {
			return err
		}
	}
	return nil
}
