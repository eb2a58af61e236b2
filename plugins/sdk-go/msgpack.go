package sdk

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"unicode/utf8"
)

var errTruncated = errors.New("the MessagePack data is truncated")

// messageWriter writes MessagePack items.
type messageWriter struct{ bytes []byte }

func (w *messageWriter) nil() { w.bytes = append(w.bytes, 0xc0) }

func (w *messageWriter) bool(value bool) {
	if value {
		w.bytes = append(w.bytes, 0xc3)
	} else {
		w.bytes = append(w.bytes, 0xc2)
	}
}

// integer writes an integer in the shortest form.
func (w *messageWriter) integer(value int64) {
	switch {
	case value >= -0x20 && value < 0x80:
		w.bytes = append(w.bytes, byte(value))
	case value >= 0:
		w.sized(uint64(value), 0xcc, 0xcd, 0xce, 0xcf)
	case value >= math.MinInt8:
		w.bytes = append(w.bytes, 0xd0, byte(value))
	case value >= math.MinInt16:
		w.bytes = binary.BigEndian.AppendUint16(append(w.bytes, 0xd1), uint16(value))
	case value >= math.MinInt32:
		w.bytes = binary.BigEndian.AppendUint32(append(w.bytes, 0xd2), uint32(value))
	default:
		w.bytes = binary.BigEndian.AppendUint64(append(w.bytes, 0xd3), uint64(value))
	}
}

func (w *messageWriter) float(value float64) {
	w.bytes = binary.BigEndian.AppendUint64(append(w.bytes, 0xcb), math.Float64bits(value))
}

func (w *messageWriter) string(text string) {
	if !utf8.ValidString(text) {
		text = string([]rune(text))
	}
	if len(text) < 32 {
		w.bytes = append(w.bytes, 0xa0|byte(len(text)))
	} else {
		w.sized(uint64(len(text)), 0xd9, 0xda, 0xdb, 0)
	}
	w.bytes = append(w.bytes, text...)
}

func (w *messageWriter) binary(content string) {
	w.sized(uint64(len(content)), 0xc4, 0xc5, 0xc6, 0)
	w.bytes = append(w.bytes, content...)
}

func (w *messageWriter) arrayHeader(length int) { w.collection(length, 0x90, 0xdc) }
func (w *messageWriter) mapHeader(length int)   { w.collection(length, 0x80, 0xde) }

func (w *messageWriter) extension(code int8, content string) {
	switch len(content) {
	case 1:
		w.bytes = append(w.bytes, 0xd4)
	case 2:
		w.bytes = append(w.bytes, 0xd5)
	case 4:
		w.bytes = append(w.bytes, 0xd6)
	case 8:
		w.bytes = append(w.bytes, 0xd7)
	case 16:
		w.bytes = append(w.bytes, 0xd8)
	default:
		w.sized(uint64(len(content)), 0xc7, 0xc8, 0xc9, 0)
	}
	w.bytes = append(append(w.bytes, byte(code)), content...)
}

func (w *messageWriter) collection(length int, fixed, marker byte) {
	switch {
	case length < 16:
		w.bytes = append(w.bytes, fixed|byte(length))
	case length <= math.MaxUint16:
		w.bytes = binary.BigEndian.AppendUint16(append(w.bytes, marker), uint16(length))
	default:
		w.bytes = binary.BigEndian.AppendUint32(append(w.bytes, marker+1), uint32(length))
	}
}

func (w *messageWriter) sized(value uint64, one, two, four, eight byte) {
	switch {
	case value <= math.MaxUint8:
		w.bytes = append(w.bytes, one, byte(value))
	case value <= math.MaxUint16:
		w.bytes = binary.BigEndian.AppendUint16(append(w.bytes, two), uint16(value))
	case value <= math.MaxUint32:
		w.bytes = binary.BigEndian.AppendUint32(append(w.bytes, four), uint32(value))
	default:
		w.bytes = binary.BigEndian.AppendUint64(append(w.bytes, eight), value)
	}
}

type (
	arrayHeader int
	mapHeader   int
	binaryItem  string
	extension   struct {
		code    int8
		content string
	}
)

// messageReader reads MessagePack items.
type messageReader struct{ rest []byte }

// next returns nil, a bool, int64, uint64 (if it is larger), float64, string, binaryItem, extension,
// arrayHeader or mapHeader.
func (r *messageReader) next() (any, error) {
	head, err := r.take(1)
	if err != nil {
		return nil, err
	}
	marker := head[0]
	switch {
	case marker < 0x80 || marker >= 0xe0:
		return int64(int8(marker)), nil
	case marker < 0x90:
		return r.header(uint64(marker&0x0f), true)
	case marker < 0xa0:
		return r.header(uint64(marker&0x0f), false)
	case marker < 0xc0:
		return r.text(uint64(marker & 0x1f))
	}
	switch marker {
	case 0xc0:
		return nil, nil
	case 0xc2, 0xc3:
		return marker == 0xc3, nil
	case 0xca:
		bits, err := r.unsigned(4)
		return float64(math.Float32frombits(uint32(bits))), err
	case 0xcb:
		bits, err := r.unsigned(8)
		return math.Float64frombits(bits), err
	case 0xcc, 0xcd, 0xce, 0xcf:
		value, err := r.unsigned(1 << (marker - 0xcc))
		if value > math.MaxInt64 {
			return value, err
		}
		return int64(value), err
	case 0xd0, 0xd1, 0xd2, 0xd3:
		size := 1 << (marker - 0xd0)
		value, err := r.unsigned(size)
		return int64(value<<(64-8*size)) >> (64 - 8*size), err
	case 0xd4, 0xd5, 0xd6, 0xd7, 0xd8:
		return r.extension(1 << (marker - 0xd4))
	}
	var size int
	switch marker {
	case 0xc4, 0xc7, 0xd9:
		size = 1
	case 0xc5, 0xc8, 0xda, 0xdc, 0xde:
		size = 2
	case 0xc6, 0xc9, 0xdb, 0xdd, 0xdf:
		size = 4
	default:
		return nil, fmt.Errorf("byte %#x does not start a MessagePack item", marker)
	}
	length, err := r.unsigned(size)
	if err != nil {
		return nil, err
	}
	switch {
	case marker <= 0xc6:
		content, err := r.take(length)
		return binaryItem(content), err
	case marker <= 0xc9:
		return r.extension(length)
	case marker <= 0xdb:
		return r.text(length)
	}
	return r.header(length, marker >= 0xde)
}

func (r *messageReader) text(length uint64) (any, error) {
	content, err := r.take(length)
	if err == nil && !utf8.Valid(content) {
		err = errors.New("a string is not valid UTF-8")
	}
	return string(content), err
}

func (r *messageReader) extension(length uint64) (any, error) {
	code, err := r.take(1)
	if err != nil {
		return nil, err
	}
	content, err := r.take(length)
	return extension{int8(code[0]), string(content)}, err
}

// header returns the beginning of a collection. Each element has at least one byte, and each entry of
// a map two, so memory is bounded by the input.
func (r *messageReader) header(length uint64, isMap bool) (any, error) {
	if isMap {
		if 2*length > uint64(len(r.rest)) {
			return nil, errTruncated
		}
		return mapHeader(length), nil
	}
	if length > uint64(len(r.rest)) {
		return nil, errTruncated
	}
	return arrayHeader(length), nil
}

func (r *messageReader) unsigned(size int) (uint64, error) {
	content, err := r.take(uint64(size))
	var value uint64
	for _, one := range content {
		value = value<<8 | uint64(one)
	}
	return value, err
}

func (r *messageReader) take(length uint64) ([]byte, error) {
	if length > uint64(len(r.rest)) {
		return nil, errTruncated
	}
	content := r.rest[:length]
	r.rest = r.rest[length:]
	return content, nil
}
