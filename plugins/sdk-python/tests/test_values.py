import random
import unittest
from decimal import Decimal

from wardian_sdk import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    UNKNOWN,
    DynamicValue,
    ListType,
    MapType,
    ObjectType,
    decode,
    encode,
    is_unknown,
)


class Values(unittest.TestCase):
    def test_values_have_the_encoding_of_the_protocol(self):
        dynamic = "92 c4 08 22 73 74 72 69 6e 67 22 a1 61"
        vectors = [
            (UNKNOWN, NUMBER, "d4 00 00"),
            (UNKNOWN.refined(not_null=True), STRING, "c7 03 0c 81 01 c2"),
            (UNKNOWN.refined(not_null=True, prefix="ab"), STRING, "c7 07 0c 82 01 c2 02 a2 61 62"),
            ({"a": 1, "b": None}, ObjectType({"a": NUMBER, "b": STRING}), "82 a1 61 01 a1 62 c0"),
            (DynamicValue(STRING, "a"), DYNAMIC, dynamic),
            ([DynamicValue(STRING, "a")], ListType(DYNAMIC), f"91 {dynamic}"),
            (-1, NUMBER, "ff"),
            (128, NUMBER, "cc 80"),
            (0.5, NUMBER, "cb 3f e0 00 00 00 00 00 00"),
            (0.1, NUMBER, "a3 30 2e 31"),
            (True, BOOL, "c3"),
            (None, STRING, "c0"),
        ]
        for value, value_type, text in vectors:
            content = bytes.fromhex(text)
            self.assertEqual(encode(value, value_type), content)
            self.assertEqual(encode(decode(content, value_type), value_type), content)

    def test_numbers_are_exact(self):
        numbers = [0, -1, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, 10**40, -33, -129, 65536, 0.25, 0.1, 1e-7]
        for number in [*numbers, Decimal("0.1234567890123456789012345")]:
            decoded = decode(encode(number, NUMBER), NUMBER)
            self.assertEqual((decoded, type(decoded)), (number, type(number)))
        self.assertEqual(encode(1e21, NUMBER), encode(10**21, NUMBER))

    def test_refinements_survive(self):
        refined = bytes.fromhex("c7 07 0c 82 01 c2 03 92 00 c3")
        value = decode(refined, NUMBER)
        self.assertTrue(is_unknown(value))
        self.assertEqual(encode(value, NUMBER), refined)
        self.assertTrue(is_unknown(decode(bytes.fromhex("d4 63 07"), NUMBER)))

    def test_random_values_survive(self):
        generator = random.Random(1)
        for _ in range(500):
            value_type, value = _generate(generator, 0)
            encoded = encode(value, value_type)
            self.assertEqual(encode(decode(encoded, value_type), value_type), encoded)

    def test_hostile_input_is_rejected(self):
        hostile = [
            ("dd ff ff ff ff", ListType(STRING)),
            ("df ff ff ff ff", MapType(STRING)),
            ("db ff ff ff ff 61", STRING),
            ("c6 ff ff ff ff", STRING),
            ("a2 61", STRING),
            ("a1 ff", STRING),
            ("c1", STRING),
            ("cb 7f f8 00 00 00 00 00 00", NUMBER),
            ("a3 31 65 78", NUMBER),
            ("92 c4 01 22 c0", DYNAMIC),
            ("81 a1 61 01", ObjectType({})),
            ("80", ObjectType({"a": STRING})),
            ("01 01", NUMBER),
            ("c3", NUMBER),
            ("01", BOOL),
        ]
        for text, value_type in hostile:
            with self.assertRaises(ValueError, msg=text):
                decode(bytes.fromhex(text), value_type)
        value_type = STRING
        for _ in range(500):
            value_type = ListType(value_type)
        with self.assertRaisesRegex(ValueError, "levels"):
            decode(b"\x91" * 100_000, value_type)

    def test_mutated_input_is_decoded_or_rejected(self):
        value_type = ObjectType({"a": ListType(DYNAMIC), "b": MapType(NUMBER)})
        valid = encode({"a": [DynamicValue(STRING, "x"), None], "b": {"k": 2**70}}, value_type)
        for index in range(len(valid)):
            for byte in range(256):
                try:
                    decode(valid[:index] + bytes([byte]) + valid[index + 1 :], value_type)
                except ValueError:
                    pass


def _generate(generator, depth):
    match generator.randrange(4 if depth > 3 else 8):
        case 0:
            return STRING, generator.choice(["", "a", "ä€😀", "x" * generator.randrange(70_000)])
        case 1:
            numbers = [generator.randrange(-500, 500), generator.randrange(10**9) ** 5, 0.3, 7 / 64]
            return NUMBER, generator.choice(numbers)
        case 2:
            return BOOL, generator.random() < 0.5
        case 3:
            return STRING, generator.choice([None, UNKNOWN])
        case 4:
            value_type, value = _generate(generator, depth + 1)
            return ListType(value_type), [value] * generator.randrange(20)
        case 5:
            value_type, value = _generate(generator, depth + 1)
            return MapType(value_type), {"k": value, "": value}
        case 6:
            value_type, value = _generate(generator, depth + 1)
            return DYNAMIC, DynamicValue(value_type, value)
        case _:
            (one, first), (two, second) = _generate(generator, depth + 1), _generate(generator, depth + 1)
            return ObjectType({"one": one, "two": two}), {"one": first, "two": second}
