// Values in the MessagePack encoding of the plugin protocol, which a type directs.
//
// | type | JavaScript |
// |---|---|
// | string, bool | string, boolean |
// | number | number if that is exact, bigint for other integers, otherwise Decimal |
// | list, set, tuple | Array |
// | map, object | an object without a prototype |
// | dynamic | DynamicValue: {type, value} |
// | null | null |
// | unknown | Unknown |

import { MessageReader, MessageWriter } from "./msgpack.js";
import { Decimal, isExactFloat, isNumber, numberFromText, textOfNumber } from "./numbers.js";
import { sortedKeys, typeFromJson, typeName, typeToJson } from "./types.js";
import { Unknown, isUnknown, unknown } from "./unknown.js";
import { decodeUtf8, encodeUtf8 } from "./utf8.js";

const MAX_DEPTH = 128;
const MAX_REFINEMENT_BYTES = 1024;
const REFINEMENT = 12;

/** A value together with its type, for attributes of type dynamic. */
export class DynamicValue {
  constructor(type, value) {
    this.type = type;
    this.value = value;
  }
}

/** A value that does not fit its type. */
export class ValueError extends Error {
  constructor(path, message) {
    super(path === "" ? message : `${path}: ${message}`);
    this.name = "ValueError";
  }
}

/** Decodes a value. No bytes are null. */
export function decode(bytes, type) {
  if (bytes.length === 0) return null;
  const reader = new MessageReader(bytes);
  const value = read(reader, type, "", 0);
  if (!reader.ended) throw new ValueError("", "there are bytes after the value");
  return value;
}

/** Encodes a value. */
export function encode(value, type) {
  const writer = new MessageWriter();
  write(writer, value, type, "", 0);
  return writer.finish();
}

function read(reader, type, path, depth) {
  if (depth > MAX_DEPTH) throw new ValueError(path, `the value has more than ${MAX_DEPTH} levels`);
  const item = reader.next();
  if (item.kind === "extension") return readUnknown(item.value, path);
  if (item.kind === "nil") return null;
  if (type === "dynamic") return readDynamic(reader, item, path, depth);
  if (typeof type === "string") return readPrimitive(item, type, path);
  switch (type.kind) {
    case "list":
    case "set":
      expect(item, "array", type, path);
      return elements(item.value, (index) => read(reader, type.element, `${path}[${index}]`, depth + 1));
    case "tuple":
      expect(item, "array", type, path);
      if (item.value !== type.elements.length) {
        throw new ValueError(path, `a tuple of ${type.elements.length} elements has ${item.value}`);
      }
      return type.elements.map((element, index) => read(reader, element, `${path}[${index}]`, depth + 1));
    case "map": {
      expect(item, "map", type, path);
      const map = Object.create(null);
      for (let index = 0; index < item.value; index++) {
        const key = readKey(reader, path);
        map[key] = read(reader, type.element, `${path}[${JSON.stringify(key)}]`, depth + 1);
      }
      return map;
    }
    default: {
      expect(item, "map", type, path);
      const count = Object.keys(type.attributes).length;
      const object = Object.create(null);
      for (let index = 0; index < item.value; index++) {
        const name = readKey(reader, path);
        if (!Object.hasOwn(type.attributes, name)) throw new ValueError(path, `there is no attribute ${JSON.stringify(name)}`);
        object[name] = read(reader, type.attributes[name], child(path, name), depth + 1);
      }
      if (Object.keys(object).length !== count) throw new ValueError(path, `an object of ${count} attributes has ${item.value}`);
      return object;
    }
  }
}

function readKey(reader, path) {
  const { kind, value } = reader.next();
  if (kind === "string") return value;
  if (kind === "binary") return decodeUtf8(value);
  throw new ValueError(path, "a key is not a string");
}

function readUnknown({ code, bytes }, path) {
  if (code !== REFINEMENT || bytes.length <= 1) return unknown;
  if (bytes.length > MAX_REFINEMENT_BYTES) throw new ValueError(path, "the refinements of an unknown value are too long");
  return new Unknown(bytes.slice());
}

function readDynamic(reader, item, path, depth) {
  if (item.kind !== "array" || item.value !== 2) throw new ValueError(path, "a dynamic value has no type");
  const notation = reader.next();
  if (notation.kind !== "binary" && notation.kind !== "string") throw new ValueError(path, "a dynamic value has no type");
  const type = typeFromJson(notation.kind === "string" ? notation.value : decodeUtf8(notation.value));
  return new DynamicValue(type, read(reader, type, path, depth + 1));
}

function readPrimitive(item, type, path) {
  const { kind, value } = item;
  if (type === "string") {
    if (kind === "string") return value;
    if (kind === "binary") return decodeUtf8(value);
  } else if (type === "bool") {
    if (kind === "bool") return value;
  } else if (kind === "integer" || kind === "float") {
    if (Number.isNaN(value)) throw new ValueError(path, "a number is NaN");
    return value;
  } else if (kind === "string") {
    return numberFromText(value);
  }
  throw new ValueError(path, `${kind} is not a ${type}`);
}

function expect(item, kind, type, path) {
  if (item.kind !== kind) throw new ValueError(path, `${item.kind} is not a ${typeName(type)}`);
}

function elements(length, one) {
  const all = [];
  for (let index = 0; index < length; index++) all.push(one(index));
  return all;
}

function write(writer, value, type, path, depth) {
  if (depth > MAX_DEPTH) throw new ValueError(path, `the value has more than ${MAX_DEPTH} levels`);
  if (isUnknown(value)) {
    if (value.refinement === null || type === "dynamic") writer.extension(0, new Uint8Array(1));
    else writer.extension(REFINEMENT, value.refinement);
    return;
  }
  if (value === null || value === undefined) {
    writer.nil();
    return;
  }
  if (type === "dynamic") {
    if (!(value instanceof DynamicValue)) throw new ValueError(path, "a value of type dynamic must be a DynamicValue");
    if (value.type === "dynamic") {
      write(writer, value.value, type, path, depth + 1);
      return;
    }
    writer.arrayHeader(2).binary(encodeUtf8(typeToJson(value.type)));
    write(writer, value.value, value.type, path, depth + 1);
    return;
  }
  if (typeof type === "string") {
    writePrimitive(writer, value, type, path);
    return;
  }
  switch (type.kind) {
    case "list":
    case "set":
    case "tuple": {
      const all = value instanceof Set ? [...value] : value;
      if (!Array.isArray(all)) throw mismatch(value, type, path);
      if (type.kind === "tuple" && all.length !== type.elements.length) {
        throw new ValueError(path, `a tuple of ${type.elements.length} elements has ${all.length}`);
      }
      writer.arrayHeader(all.length);
      all.forEach((element, index) => {
        const inner = type.kind === "tuple" ? type.elements[index] : type.element;
        write(writer, element, inner, `${path}[${index}]`, depth + 1);
      });
      return;
    }
    case "map": {
      const map = value instanceof Map ? Object.fromEntries(value) : value;
      if (!isObject(map)) throw mismatch(value, type, path);
      const keys = sortedKeys(map);
      writer.mapHeader(keys.length);
      for (const key of keys) {
        writer.string(key);
        write(writer, map[key], type.element, `${path}[${JSON.stringify(key)}]`, depth + 1);
      }
      return;
    }
    default: {
      if (!isObject(value)) throw mismatch(value, type, path);
      const names = sortedKeys(type.attributes);
      for (const name of Object.keys(value)) {
        if (!Object.hasOwn(type.attributes, name)) throw new ValueError(path, `there is no attribute ${JSON.stringify(name)}`);
      }
      writer.mapHeader(names.length);
      for (const name of names) {
        writer.string(name);
        const inner = Object.hasOwn(value, name) ? value[name] : null;
        write(writer, inner, type.attributes[name], child(path, name), depth + 1);
      }
    }
  }
}

function writePrimitive(writer, value, type, path) {
  if (type === "string" && typeof value === "string") writer.string(value);
  else if (type === "bool" && typeof value === "boolean") writer.bool(value);
  else if (type === "number" && isNumber(value)) writeNumber(writer, value, path);
  else throw mismatch(value, type, path);
}

function writeNumber(writer, value, path) {
  if (Number.isNaN(value)) throw new ValueError(path, "a number is NaN");
  if (value === Infinity || value === -Infinity) writer.float(value);
  else if (typeof value === "number" && !Number.isInteger(value) && isExactFloat(value)) writer.float(value);
  else {
    const exact = value instanceof Decimal ? numberFromText(value.digits) : value;
    const whole = typeof exact === "bigint" || Number.isInteger(exact) ? BigInt(exact) : null;
    if (whole !== null && BigInt.asIntN(64, whole) === whole) writer.integer(whole);
    else writer.string(textOfNumber(exact));
  }
}

function isObject(value) {
  return typeof value === "object" && !Array.isArray(value) && !(value instanceof Set);
}

function mismatch(value, type, path) {
  const kind = Array.isArray(value) ? "an array" : typeof value === "object" ? "an object" : `a ${typeof value}`;
  return new ValueError(path, `${kind} is not a ${typeName(type)}`);
}

function child(path, name) {
  return path === "" ? name : `${path}.${name}`;
}

/** Compares two values of one type. */
export function equal(left, right) {
  if (left === right) return true;
  if (isUnknown(left) || isUnknown(right)) return isUnknown(left) && isUnknown(right);
  if (isNumber(left) && isNumber(right)) return textOfNumber(left) === textOfNumber(right);
  if (typeof left !== "object" || typeof right !== "object" || left === null || right === null) return false;
  if (left instanceof DynamicValue || right instanceof DynamicValue) {
    return (
      left instanceof DynamicValue &&
      right instanceof DynamicValue &&
      typeToJson(left.type) === typeToJson(right.type) &&
      equal(left.value, right.value)
    );
  }
  const names = Object.keys(left);
  return (
    Array.isArray(left) === Array.isArray(right) &&
    names.length === Object.keys(right).length &&
    names.every((name) => Object.hasOwn(right, name) && equal(left[name], right[name]))
  );
}

/** Returns the value with null instead of unknown values, and the path of the first of them. */
export function withoutUnknown(value, path = "") {
  if (isUnknown(value)) return [null, path === "" ? "the value" : path];
  if (typeof value !== "object" || value === null || value instanceof Decimal) return [value, null];
  if (value instanceof DynamicValue) {
    const [inner, first] = withoutUnknown(value.value, path);
    return [new DynamicValue(value.type, inner), first];
  }
  let found = null;
  const one = (inner, at) => {
    const [known, first] = withoutUnknown(inner, at);
    found ??= first;
    return known;
  };
  if (Array.isArray(value)) return [value.map((element, index) => one(element, `${path}[${index}]`)), found];
  if (value instanceof Set || value instanceof Map) return [value, null];
  const object = Object.create(null);
  for (const name of Object.keys(value)) object[name] = one(value[name], child(path, name));
  return [object, found];
}
