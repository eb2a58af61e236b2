package sdk

import (
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

// Value is a value of the language:
//
//	string, bool    string, bool
//	number          int64; *big.Int if it is larger; float64 if that is exact; otherwise Decimal
//	list, set       []Value; also []string when a provider returns it
//	tuple           []Value
//	map, object     Object; also map[string]string when a provider returns it
//	dynamic         DynamicValue
//	null            nil
//	unknown         Unknown
//
// A provider may also return int and other integers for a number.
type Value = any

// Object is an object or a map.
type Object map[string]Value

// DynamicValue is a value together with its type, for attributes of type dynamic.
type DynamicValue struct {
	Type  Type
	Value Value
}

// Decimal is a number in decimal digits.
type Decimal string

// Unknown is a value that is not known before an apply.
type Unknown struct{ refinement string }

// Refined returns an unknown value about which something is known: that it is not null, and, if it
// is a string, its first characters, at most 255 bytes.
func (Unknown) Refined(notNull bool, prefix string) Unknown {
	var writer messageWriter
	switch {
	case notNull && prefix != "":
		writer.mapHeader(2)
	case notNull || prefix != "":
		writer.mapHeader(1)
	default:
		return Unknown{}
	}
	if notNull {
		writer.integer(1)
		writer.bool(false)
	}
	if prefix != "" {
		writer.integer(2)
		writer.string(prefix)
	}
	return Unknown{string(writer.bytes)}
}

// IsUnknown returns whether a value is unknown. Its parts may be unknown even if it is known.
func IsUnknown(value Value) bool {
	_, isUnknown := value.(Unknown)
	return isUnknown
}

// String returns a string, or "" if the value is null or unknown.
func (o Object) String(name string) string {
	text, _ := o[name].(string)
	return text
}

// Bool returns a bool, or false if the value is null or unknown.
func (o Object) Bool(name string) bool {
	value, _ := o[name].(bool)
	return value
}

// Int returns an integer of any size, or nil if the value is null, unknown or a fraction.
func (o Object) Int(name string) *big.Int { return BigInt(o[name]) }

// Float returns a number as the closest float, or 0 if the value is null or unknown.
func (o Object) Float(name string) float64 {
	text, isNumber := numberText(o[name])
	if !isNumber {
		return 0
	}
	value, _ := strconv.ParseFloat(text, 64)
	return value
}

// Object returns an object or a map, or nil if the value is null or unknown.
func (o Object) Object(name string) Object {
	value, _ := o[name].(Object)
	return value
}

// List returns the elements of a list, set or tuple, or nil if the value is null or unknown.
func (o Object) List(name string) []Value {
	if dynamic, isDynamic := o[name].(DynamicValue); isDynamic {
		value, _ := dynamic.Value.([]Value)
		return value
	}
	value, _ := o[name].([]Value)
	return value
}

// With returns a copy with other values.
func (o Object) With(values Object) Object {
	copied := make(Object, len(o)+len(values))
	for name, value := range o {
		copied[name] = value
	}
	for name, value := range values {
		copied[name] = value
	}
	return copied
}

// BigInt returns an integer, or nil if the value is not an integer.
func BigInt(value Value) *big.Int {
	text, isNumber := numberText(value)
	if !isNumber {
		return nil
	}
	whole, ok := new(big.Int).SetString(text, 10)
	if !ok {
		return nil
	}
	return whole
}

// numberText returns the decimal digits of a finite number, without an exponent.
func numberText(value Value) (string, bool) {
	switch value := value.(type) {
	case int:
		return strconv.Itoa(value), true
	case int32:
		return strconv.FormatInt(int64(value), 10), true
	case int64:
		return strconv.FormatInt(value, 10), true
	case uint32:
		return strconv.FormatUint(uint64(value), 10), true
	case uint64:
		return strconv.FormatUint(value, 10), true
	case *big.Int:
		if value != nil {
			return value.String(), true
		}
	case float64:
		if !math.IsNaN(value) && !math.IsInf(value, 0) {
			return strconv.FormatFloat(value, 'f', -1, 64), true
		}
	case Decimal:
		return plainDecimal(string(value))
	}
	return "", false
}

const maxDigits = 4096

// plainDecimal returns decimal text without an exponent and without superfluous zeros.
func plainDecimal(text string) (string, bool) {
	mantissa, exponent := text, 0
	if index := strings.IndexAny(text, "eE"); index >= 0 {
		parsed, err := strconv.Atoi(text[index+1:])
		if err != nil || parsed > maxDigits || parsed < -maxDigits {
			return "", false
		}
		mantissa, exponent = text[:index], parsed
	}
	sign := ""
	if rest, isNegative := strings.CutPrefix(mantissa, "-"); isNegative {
		sign, mantissa = "-", rest
	} else {
		mantissa = strings.TrimPrefix(mantissa, "+")
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits := whole + fraction
	if digits == "" || len(digits) > maxDigits || strings.Trim(digits, "0123456789") != "" {
		return "", false
	}
	point := len(whole) + exponent
	if point < 0 {
		digits, point = strings.Repeat("0", -point)+digits, 0
	}
	if point > len(digits) {
		digits += strings.Repeat("0", point-len(digits))
	}
	before, after := strings.TrimLeft(digits[:point], "0"), strings.TrimRight(digits[point:], "0")
	if before == "" {
		before = "0"
	}
	if after != "" {
		before += "." + after
	}
	if before == "0" {
		sign = ""
	}
	return sign + before, true
}

// parseNumber returns the number that decimal text denotes.
func parseNumber(text string) (Value, error) {
	plain, ok := plainDecimal(text)
	if !ok {
		return nil, fmt.Errorf("%q is not a number", text)
	}
	if !strings.Contains(plain, ".") {
		if small, err := strconv.ParseInt(plain, 10, 64); err == nil {
			return small, nil
		}
		large, _ := new(big.Int).SetString(plain, 10)
		return large, nil
	}
	approximate, err := strconv.ParseFloat(plain, 64)
	if err == nil && strconv.FormatFloat(approximate, 'f', -1, 64) == plain {
		return approximate, nil
	}
	return Decimal(plain), nil
}

// isExactFloat returns whether a float is equal to its shortest decimal digits.
func isExactFloat(value float64) bool {
	_, fraction, _ := strings.Cut(strconv.FormatFloat(value, 'f', -1, 64), ".")
	scaled := math.Ldexp(value, len(fraction))
	return scaled == math.Trunc(scaled) && !math.IsInf(scaled, 0)
}

// Same compares two values of one type.
func Same(left, right Value) bool {
	if first, isNumber := numberText(left); isNumber {
		second, isNumber := numberText(right)
		return isNumber && first == second
	}
	switch left := left.(type) {
	case nil:
		return right == nil
	case Unknown:
		return IsUnknown(right)
	case []Value:
		other, isList := right.([]Value)
		return isList && slices.EqualFunc(left, other, Same)
	case Object:
		other, isObject := right.(Object)
		if !isObject || len(left) != len(other) {
			return false
		}
		for name, value := range left {
			if counterpart, found := other[name]; !found || !Same(value, counterpart) {
				return false
			}
		}
		return true
	case DynamicValue:
		other, isDynamic := right.(DynamicValue)
		return isDynamic && left.Type.JSON() == other.Type.JSON() && Same(left.Value, other.Value)
	case string, bool, float64:
		return left == right
	}
	return false
}

// withoutUnknown returns the value with null instead of unknown values, and the path of the first of
// them.
func withoutUnknown(value Value, path string) (Value, string) {
	first := ""
	known := func(value Value, path string) Value {
		result, found := withoutUnknown(value, path)
		if first == "" {
			first = found
		}
		return result
	}
	switch value := value.(type) {
	case Unknown:
		if path == "" {
			path = "the value"
		}
		return nil, path
	case DynamicValue:
		return DynamicValue{value.Type, known(value.Value, path)}, first
	case Object:
		result := make(Object, len(value))
		for name, part := range value {
			result[name] = known(part, join(path, name))
		}
		return result, first
	case []Value:
		result := make([]Value, len(value))
		for index, element := range value {
			result[index] = known(element, fmt.Sprintf("%s[%d]", path, index))
		}
		return result, first
	}
	return value, ""
}

func join(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
