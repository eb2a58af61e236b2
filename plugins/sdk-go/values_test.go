package sdk

import (
	"bytes"
	"encoding/hex"
	"math/big"
	"math/rand"
	"strings"
	"testing"
)

func fromHex(t *testing.T, text string) []byte {
	t.Helper()
	content, err := hex.DecodeString(strings.ReplaceAll(text, " ", ""))
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func encoded(t *testing.T, value Value, of Type) []byte {
	t.Helper()
	content, err := Encode(value, of)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func TestValuesHaveTheEncodingOfTheProtocol(t *testing.T) {
	const dynamic = "92 c4 08 22 73 74 72 69 6e 67 22 a1 61"
	vectors := []struct {
		value Value
		of    Type
		text  string
	}{
		{Unknown{}, Number, "d4 00 00"},
		{Unknown{}.Refined(true, ""), String, "c7 03 0c 81 01 c2"},
		{Unknown{}.Refined(true, "ab"), String, "c7 07 0c 82 01 c2 02 a2 61 62"},
		{Object{"a": 1, "b": nil}, ObjectOf(map[string]Type{"a": Number, "b": String}), "82 a1 61 01 a1 62 c0"},
		{DynamicValue{String, "a"}, Dynamic, dynamic},
		{[]Value{DynamicValue{String, "a"}}, List(Dynamic), "91 " + dynamic},
		{-1, Number, "ff"},
		{128, Number, "cc 80"},
		{0.5, Number, "cb 3f e0 00 00 00 00 00 00"},
		{0.1, Number, "a3 30 2e 31"},
		{true, Bool, "c3"},
		{nil, String, "c0"},
	}
	for _, vector := range vectors {
		expected := fromHex(t, vector.text)
		if content := encoded(t, vector.value, vector.of); !bytes.Equal(content, expected) {
			t.Errorf("%v: % x, expected % x", vector.value, content, expected)
		}
		decoded, err := Decode(expected, vector.of)
		if err != nil || !bytes.Equal(encoded(t, decoded, vector.of), expected) {
			t.Errorf("%v: decoded as %v, %v", vector.value, decoded, err)
		}
	}
}

func TestNumbersAreExact(t *testing.T) {
	large, _ := new(big.Int).SetString("18446744073709551616", 10)
	for _, number := range []Value{int64(0), int64(-1), int64(1) << 53, int64(-1) << 63, int64(-33), int64(-129), int64(-40000), int64(65536), large, 0.25, 0.1, 1e-7, Decimal("0.1234567890123456789012345")} {
		decoded, err := Decode(encoded(t, number, Number), Number)
		if err != nil || !Same(decoded, number) {
			t.Errorf("%v: decoded as %v, %v", number, decoded, err)
		}
	}
	if !bytes.Equal(encoded(t, 1e21, Number), encoded(t, Decimal("1e21"), Number)) {
		t.Error("1e21 has two encodings")
	}
}

func TestRefinementsSurvive(t *testing.T) {
	refined := fromHex(t, "c7 07 0c 82 01 c2 03 92 00 c3")
	value, err := Decode(refined, Number)
	if err != nil || !IsUnknown(value) || !bytes.Equal(encoded(t, value, Number), refined) {
		t.Errorf("decoded as %v, %v", value, err)
	}
	if value, err = Decode(fromHex(t, "d4 63 07"), Number); err != nil || !IsUnknown(value) {
		t.Errorf("decoded as %v, %v", value, err)
	}
}

func generate(random *rand.Rand, depth int) (Type, Value) {
	limit := 8
	if depth > 3 {
		limit = 4
	}
	switch random.Intn(limit) {
	case 0:
		return String, []string{"", "a", "ä€😀", strings.Repeat("x", random.Intn(70000))}[random.Intn(4)]
	case 1:
		return Number, []Value{int64(random.Intn(1000) - 500), new(big.Int).Exp(big.NewInt(random.Int63()), big.NewInt(5), nil), 0.3, 7.0 / 64}[random.Intn(4)]
	case 2:
		return Bool, random.Intn(2) == 1
	case 3:
		return String, []Value{nil, Unknown{}}[random.Intn(2)]
	case 4:
		of, value := generate(random, depth+1)
		values := make([]Value, random.Intn(20))
		for index := range values {
			values[index] = value
		}
		return List(of), values
	case 5:
		of, value := generate(random, depth+1)
		return Map(of), Object{"k": value, "": value}
	case 6:
		of, value := generate(random, depth+1)
		return Dynamic, DynamicValue{of, value}
	}
	one, first := generate(random, depth+1)
	two, second := generate(random, depth+1)
	return ObjectOf(map[string]Type{"one": one, "two": two}), Object{"one": first, "two": second}
}

func TestRandomValuesSurvive(t *testing.T) {
	random := rand.New(rand.NewSource(1))
	for range 500 {
		of, value := generate(random, 0)
		content := encoded(t, value, of)
		decoded, err := Decode(content, of)
		if err != nil || !bytes.Equal(encoded(t, decoded, of), content) {
			t.Fatalf("%v: %v", of, err)
		}
	}
}

func TestHostileInputIsRejected(t *testing.T) {
	hostile := []struct {
		text string
		of   Type
	}{
		{"dd ff ff ff ff", List(String)}, {"df ff ff ff ff", Map(String)}, {"db ff ff ff ff 61", String},
		{"c6 ff ff ff ff", String}, {"a2 61", String}, {"a1 ff", String}, {"c1", String},
		{"cb 7f f8 00 00 00 00 00 00", Number}, {"a3 31 65 78", Number}, {"92 c4 01 22 c0", Dynamic},
		{"81 a1 61 01", ObjectOf(nil)}, {"80", ObjectOf(map[string]Type{"a": String})}, {"01 01", Number},
		{"c3", Number}, {"01", Bool},
	}
	for _, one := range hostile {
		if value, err := Decode(fromHex(t, one.text), one.of); err == nil {
			t.Errorf("%s: decoded as %v", one.text, value)
		}
	}
	of := String
	for range 500 {
		of = List(of)
	}
	if _, err := Decode(bytes.Repeat([]byte{0x91}, 100_000), of); err == nil || !strings.Contains(err.Error(), "levels") {
		t.Errorf("deep value: %v", err)
	}
}

func TestMutatedInputDoesNotPanic(t *testing.T) {
	of := ObjectOf(map[string]Type{"a": List(Dynamic), "b": Map(Number)})
	valid := encoded(t, Object{"a": []Value{DynamicValue{String, "x"}, nil}, "b": Object{"k": new(big.Int).Lsh(big.NewInt(1), 70)}}, of)
	for index := range valid {
		for value := range 256 {
			changed := bytes.Clone(valid)
			changed[index] = byte(value)
			_, _ = Decode(changed, of)
		}
	}
}

func FuzzDecode(f *testing.F) {
	f.Add([]byte{0x92, 0xc4, 0x08, 0x22, 0x73, 0x74, 0x72, 0x69, 0x6e, 0x67, 0x22, 0xa1, 0x61})
	f.Fuzz(func(t *testing.T, content []byte) {
		value, err := Decode(content, Dynamic)
		if err != nil {
			return
		}
		if _, err := Encode(value, Dynamic); err != nil {
			t.Errorf("decoded value cannot be encoded: %v", err)
		}
	})
}

func TestJSONIsParsedWithoutLossOfPrecision(t *testing.T) {
	state, err := parseState([]byte(`{"a":12345678901234567890,"b":"7","c":"\u00e4\ud83d\ude00\"\\"}`))
	if err != nil {
		t.Fatal(err)
	}
	value, err := fromJSON(state, ObjectOf(map[string]Type{"a": Number, "b": Number, "c": String}), "")
	if err != nil || value.(Object).Int("a").String() != "12345678901234567890" || value.(Object)["b"] != int64(7) || value.(Object)["c"] != "ä😀\"\\" {
		t.Errorf("%v, %v", value, err)
	}
	for _, text := range []string{"", "{", "[1,]", `"a`, "01x", "nul", `{"a" 1}`, strings.Repeat("[", 100_000), "1 2", "NaN", `"\u12"`, `"\x"`} {
		if value, err := ParseJSON([]byte(text)); err == nil {
			t.Errorf("%.20s: parsed as %v", text, value)
		}
	}
}
