package sdk

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// ParseJSON parses JSON without loss of precision: numbers are Decimal, objects map[string]any, and
// arrays []any. It is smaller than encoding/json, which adds 1 MB to a component.
func ParseJSON(text []byte) (any, error) {
	parser := jsonParser{text: text}
	value, err := parser.value(0)
	if err != nil {
		return nil, err
	}
	parser.space()
	if parser.position != len(text) {
		return nil, parser.fail()
	}
	return value, nil
}

type jsonParser struct {
	text     []byte
	position int
}

func (p *jsonParser) fail() error { return fmt.Errorf("invalid JSON at offset %d", p.position) }

func (p *jsonParser) peek() byte {
	if p.position < len(p.text) {
		return p.text[p.position]
	}
	return 0
}

func (p *jsonParser) space() {
	for p.position < len(p.text) && strings.IndexByte(" \t\n\r", p.text[p.position]) >= 0 {
		p.position++
	}
}

func (p *jsonParser) value(depth int) (any, error) {
	if depth > maxDepth {
		return nil, fmt.Errorf("JSON has more than %d levels", maxDepth)
	}
	p.space()
	switch p.peek() {
	case '{':
		object := map[string]any{}
		err := p.sequence('}', func() error {
			p.space()
			key, err := p.string()
			if err != nil {
				return err
			}
			p.space()
			if p.peek() != ':' {
				return p.fail()
			}
			p.position++
			object[key], err = p.value(depth + 1)
			return err
		})
		return object, err
	case '[':
		array := []any{}
		err := p.sequence(']', func() error {
			element, err := p.value(depth + 1)
			array = append(array, element)
			return err
		})
		return array, err
	case '"':
		return p.string()
	case 't':
		return true, p.word("true")
	case 'f':
		return false, p.word("false")
	case 'n':
		return nil, p.word("null")
	}
	return p.number()
}

func (p *jsonParser) sequence(end byte, element func() error) error {
	p.position++
	p.space()
	if p.peek() == end {
		p.position++
		return nil
	}
	for {
		if err := element(); err != nil {
			return err
		}
		p.space()
		next := p.peek()
		if next != end && next != ',' {
			return p.fail()
		}
		p.position++
		if next == end {
			return nil
		}
	}
}

func (p *jsonParser) word(word string) error {
	if !strings.HasPrefix(string(p.text[p.position:min(len(p.text), p.position+len(word))]), word) {
		return p.fail()
	}
	p.position += len(word)
	return nil
}

func (p *jsonParser) number() (any, error) {
	start := p.position
	for p.position < len(p.text) && strings.IndexByte("+-.eE0123456789", p.text[p.position]) >= 0 {
		p.position++
	}
	text := string(p.text[start:p.position])
	if strings.HasPrefix(text, "+") || text == "" {
		return nil, p.fail()
	}
	if _, isNumber := plainDecimal(text); !isNumber {
		return nil, p.fail()
	}
	return Decimal(text), nil
}

func (p *jsonParser) string() (string, error) {
	if p.peek() != '"' {
		return "", p.fail()
	}
	p.position++
	var text []byte
	for {
		if p.position >= len(p.text) {
			return "", p.fail()
		}
		next := p.text[p.position]
		p.position++
		switch {
		case next == '"':
			if !utf8.Valid(text) {
				return "", p.fail()
			}
			return string(text), nil
		case next < 0x20:
			return "", p.fail()
		case next != '\\':
			text = append(text, next)
			continue
		}
		escape := p.peek()
		p.position++
		if index := strings.IndexByte(`"\/bfnrt`, escape); index >= 0 && escape != 0 {
			text = append(text, "\"\\/\b\f\n\r\t"[index])
			continue
		}
		if escape != 'u' {
			return "", p.fail()
		}
		character, err := p.hexadecimal()
		if err != nil {
			return "", err
		}
		if utf16.IsSurrogate(character) && p.peek() == '\\' && p.position+1 < len(p.text) && p.text[p.position+1] == 'u' {
			p.position += 2
			second, err := p.hexadecimal()
			if err != nil {
				return "", err
			}
			character = utf16.DecodeRune(character, second)
		}
		text = utf8.AppendRune(text, character)
	}
}

func (p *jsonParser) hexadecimal() (rune, error) {
	if p.position+4 > len(p.text) {
		return 0, p.fail()
	}
	value, err := strconv.ParseUint(string(p.text[p.position:p.position+4]), 16, 16)
	if err != nil {
		return 0, p.fail()
	}
	p.position += 4
	return rune(value), nil
}

// appendJSONString appends a string in JSON.
func appendJSONString(text *strings.Builder, value string) {
	text.WriteByte('"')
	for _, character := range value {
		switch {
		case character == '"' || character == '\\':
			text.WriteByte('\\')
			text.WriteRune(character)
		case character < 0x20:
			fmt.Fprintf(text, "\\u%04x", character)
		default:
			text.WriteRune(character)
		}
	}
	text.WriteByte('"')
}
