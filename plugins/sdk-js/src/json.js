// Stored states are JSON with numbers of any precision, which JSON.parse would round.

import { Decimal, integer, isNumber, numberFromText, textOfNumber } from "./numbers.js";
import { typeFromJson, typeName } from "./types.js";
import { DynamicValue, ValueError } from "./value.js";

const MAX_DEPTH = 128;

/** Parses JSON. Numbers are a number if that is exact, otherwise a bigint or a Decimal. */
export function parseJson(text) {
  const parser = new JsonParser(text);
  const value = parser.value(0);
  parser.space();
  if (parser.position !== text.length) parser.fail();
  return value;
}

class JsonParser {
  position = 0;

  constructor(text) {
    this.text = text;
  }

  value(depth) {
    if (depth > MAX_DEPTH) throw new SyntaxError(`JSON has more than ${MAX_DEPTH} levels`);
    this.space();
    switch (this.text[this.position]) {
      case "{":
        return this.object(depth);
      case "[":
        return this.array(depth);
      case '"':
        return this.string();
      case "t":
        return this.word("true", true);
      case "f":
        return this.word("false", false);
      case "n":
        return this.word("null", null);
      default:
        return this.number();
    }
  }

  space() {
    while (" \t\n\r".includes(this.text[this.position] ?? "x")) this.position++;
  }

  object(depth) {
    const object = Object.create(null);
    this.sequence("}", () => {
      this.space();
      if (this.text[this.position] !== '"') this.fail();
      const key = this.string();
      this.space();
      if (this.text[this.position++] !== ":") this.fail();
      object[key] = this.value(depth + 1);
    });
    return object;
  }

  array(depth) {
    const elements = [];
    this.sequence("]", () => elements.push(this.value(depth + 1)));
    return elements;
  }

  sequence(end, element) {
    this.position++;
    this.space();
    if (this.text[this.position] === end) {
      this.position++;
      return;
    }
    for (;;) {
      element();
      this.space();
      const next = this.text[this.position++];
      if (next === end) return;
      if (next !== ",") this.fail();
    }
  }

  string() {
    const start = this.position++;
    for (;;) {
      const next = this.text[this.position++];
      if (next === undefined) this.fail();
      if (next === "\\") this.position++;
      else if (next === '"') return JSON.parse(this.text.slice(start, this.position));
    }
  }

  number() {
    const pattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y;
    pattern.lastIndex = this.position;
    const [digits] = pattern.exec(this.text) ?? this.fail();
    this.position += digits.length;
    return /^-?\d+$/.test(digits) ? integer(BigInt(digits)) : numberFromText(digits);
  }

  word(word, value) {
    if (!this.text.startsWith(word, this.position)) this.fail();
    this.position += word.length;
    return value;
  }

  fail() {
    throw new SyntaxError(`invalid JSON at offset ${this.position}`);
  }
}

/** Converts parsed JSON to a value of a type, in the encoding of states. */
export function fromJson(json, type, path = "") {
  if (json === null || json === undefined) return null;
  const mismatch = () => new ValueError(path, `the stored value is not a ${typeName(type)}`);
  if (typeof type === "string") return primitive(json, type, path, mismatch);
  const at = (name) => (path === "" ? name : `${path}.${name}`);
  switch (type.kind) {
    case "list":
    case "set":
    case "tuple":
      if (!Array.isArray(json)) throw mismatch();
      if (type.kind === "tuple" && json.length !== type.elements.length) throw mismatch();
      return json.map((element, index) =>
        fromJson(element, type.kind === "tuple" ? type.elements[index] : type.element, `${path}[${index}]`),
      );
    default: {
      if (typeof json !== "object" || Array.isArray(json) || json instanceof Decimal) throw mismatch();
      const object = Object.create(null);
      if (type.kind === "map") {
        for (const key of Object.keys(json)) object[key] = fromJson(json[key], type.element, `${path}[${JSON.stringify(key)}]`);
        return object;
      }
      for (const name of Object.keys(json)) {
        if (!Object.hasOwn(type.attributes, name)) throw new ValueError(path, `the schema has no attribute ${JSON.stringify(name)}`);
      }
      for (const name of Object.keys(type.attributes)) object[name] = fromJson(json[name], type.attributes[name], at(name));
      return object;
    }
  }
}

function primitive(json, type, path, mismatch) {
  switch (type) {
    case "string":
      if (typeof json === "string") return json;
      if (typeof json === "boolean") return String(json);
      if (isNumber(json)) return textOfNumber(json);
      break;
    case "number":
      if (isNumber(json)) return json;
      if (typeof json === "string") return numberFromText(json);
      break;
    case "bool":
      if (typeof json === "boolean") return json;
      if (json === "true" || json === "1") return true;
      if (json === "false" || json === "0") return false;
      break;
    default: {
      if (typeof json !== "object" || Array.isArray(json) || !Object.hasOwn(json, "type")) break;
      const inner = typeFromJson(JSON.stringify(json.type));
      return new DynamicValue(inner, fromJson(json.value, inner, path));
    }
  }
  throw mismatch();
}
