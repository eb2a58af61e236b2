import assert from "node:assert/strict";
import { test } from "node:test";

import { Decimal, DynamicValue, decode, encode, isUnknown, types, unknown } from "../src/index.js";
import { decodeUtf8, encodeUtf8 } from "../src/utf8.js";

const bytes = (text) => Uint8Array.from(text.split(" ").map((byte) => Number.parseInt(byte, 16)));

test("values have the encoding of the protocol", () => {
  const vectors = [
    [unknown, types.number, "d4 00 00"],
    [unknown.refined({ notNull: true }), types.string, "c7 03 0c 81 01 c2"],
    [unknown.refined({ notNull: true, prefix: "ab" }), types.string, "c7 07 0c 82 01 c2 02 a2 61 62"],
    [{ a: 1, b: null }, types.object({ a: types.number, b: types.string }), "82 a1 61 01 a1 62 c0"],
    [new DynamicValue(types.string, "a"), types.dynamic, "92 c4 08 22 73 74 72 69 6e 67 22 a1 61"],
    [[new DynamicValue(types.string, "a")], types.list(types.dynamic), "91 92 c4 08 22 73 74 72 69 6e 67 22 a1 61"],
    [-1, types.number, "ff"],
    [128, types.number, "cc 80"],
    [0.5, types.number, "cb 3f e0 00 00 00 00 00 00"],
    [0.1, types.number, "a3 30 2e 31"],
    [true, types.bool, "c3"],
    [null, types.string, "c0"],
  ];
  for (const [value, type, expected] of vectors) {
    assert.deepEqual(encode(value, type), bytes(expected));
    assert.deepEqual(encode(decode(bytes(expected), type), type), bytes(expected));
  }
});

test("numbers are exact", () => {
  const numbers = [0, -1, 2 ** 53 - 1, 2n ** 53n + 1n, 2n ** 63n - 1n, -(2n ** 63n), 2n ** 64n, 10n ** 40n, -33, 65536, 0.25, 1e-7];
  for (const number of numbers) {
    assert.equal(decode(encode(number, types.number), types.number), number);
  }
  const digits = "0.1234567890123456789012345";
  assert.equal(decode(encode(new Decimal(digits), types.number), types.number).digits, digits);
  assert.deepEqual(encode(1e21, types.number), encode(10n ** 21n, types.number));
});

test("refinements survive", () => {
  const refined = bytes("c7 07 0c 82 01 c2 03 92 00 c3");
  const value = decode(refined, types.number);
  assert.ok(isUnknown(value));
  assert.deepEqual(encode(value, types.number), refined);
  assert.ok(isUnknown(decode(bytes("d4 63 07"), types.number)));
});

test("random values survive", () => {
  let seed = 1;
  const random = (limit) => {
    seed = (seed * 1103515245 + 12345) % 2147483648;
    return seed % limit;
  };
  const generate = (depth) => {
    switch (random(depth > 3 ? 4 : 8)) {
      case 0:
        return [types.string, ["", "a", "ä€😀", "x".repeat(random(70000))][random(4)]];
      case 1:
        return [types.number, [random(1000) - 500, BigInt(random(1e9)) ** 5n, random(1000) / 64, 0.3][random(4)]];
      case 2:
        return [types.bool, random(2) === 1];
      case 3:
        return [types.string, [null, unknown][random(2)]];
      case 4: {
        const [type, value] = generate(depth + 1);
        return [types.list(type), new Array(random(20)).fill(value)];
      }
      case 5: {
        const [type, value] = generate(depth + 1);
        return [types.map(type), { k: value, "": value, __proto__: null }];
      }
      case 6: {
        const [type, value] = generate(depth + 1);
        return [types.dynamic, new DynamicValue(type, value)];
      }
      default: {
        const [[one, first], [two, second]] = [generate(depth + 1), generate(depth + 1)];
        return [types.object({ one, two }), { one: first, two: second }];
      }
    }
  };
  for (let round = 0; round < 500; round++) {
    const [type, value] = generate(0);
    const encoded = encode(value, type);
    assert.deepEqual(encode(decode(encoded, type), type), encoded);
  }
});

test("a map may have the key __proto__", () => {
  const encoded = bytes("81 a9 5f 5f 70 72 6f 74 6f 5f 5f a1 61");
  const map = decode(encoded, types.map(types.string));
  assert.deepEqual(Object.keys(map), ["__proto__"]);
  assert.deepEqual(encode(map, types.map(types.string)), encoded);
});

test("hostile input is rejected", () => {
  const hostile = [
    ["dd ff ff ff ff", types.list(types.string)],
    ["df ff ff ff ff", types.map(types.string)],
    ["db ff ff ff ff 61", types.string],
    ["c6 ff ff ff ff", types.string],
    ["a2 61", types.string],
    ["a1 ff", types.string],
    ["c1", types.string],
    ["cb 7f f8 00 00 00 00 00 00", types.number],
    ["a3 31 65 78", types.number],
    ["92 c4 01 22 c0", types.dynamic],
    ["81 a1 61 01", types.object({})],
    ["80", types.object({ a: types.string })],
    ["01 01", types.number],
  ];
  for (const [text, type] of hostile) assert.throws(() => decode(bytes(text), type), text);
  const nested = new Uint8Array(100_000).fill(0x91);
  let type = types.string;
  for (let depth = 0; depth < 1000; depth++) type = types.list(type);
  assert.throws(() => decode(nested, type), /levels/);
});

test("mutated input is decoded or rejected", () => {
  const type = types.object({ a: types.list(types.dynamic), b: types.map(types.number) });
  const valid = encode({ a: [new DynamicValue(types.string, "x"), null], b: { k: 2n ** 70n } }, type);
  for (let index = 0; index < valid.length; index++) {
    for (let byte = 0; byte < 256; byte++) {
      const changed = valid.slice();
      changed[index] = byte;
      try {
        decode(changed, type);
      } catch (error) {
        assert.ok(error instanceof Error && !(error instanceof RangeError && /call stack|array length/.test(error.message)), error);
      }
    }
  }
});

test("UTF-8 is as TextEncoder encodes it", () => {
  for (const text of ["", "a", "ä€😀", "\u{10ffff}", "\ud800", "a\udc00b", "\u0000"]) {
    assert.deepEqual(encodeUtf8(text), new TextEncoder().encode(text));
    assert.equal(decodeUtf8(encodeUtf8(text)), text.toWellFormed?.() ?? new TextDecoder().decode(encodeUtf8(text)));
  }
  for (const invalid of ["c0 80", "ed a0 80", "f4 90 80 80", "80", "e2 82"]) assert.throws(() => decodeUtf8(bytes(invalid)));
});
