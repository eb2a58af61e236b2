// Type constraints: "string", "number", "bool", "dynamic", {kind: "list" | "set" | "map", element},
// {kind: "object", attributes} and {kind: "tuple", elements}.

const PRIMITIVES = ["string", "number", "bool", "dynamic"];
const MAX_DEPTH = 64;

/** The types of values. */
export const types = {
  string: "string",
  number: "number",
  bool: "bool",
  /** Any type: each value carries its own. */
  dynamic: "dynamic",
  list: (element) => ({ kind: "list", element }),
  set: (element) => ({ kind: "set", element }),
  map: (element) => ({ kind: "map", element }),
  object: (attributes) => ({ kind: "object", attributes }),
  tuple: (elements) => ({ kind: "tuple", elements }),
};

/** Returns a type in the protocol's JSON notation. */
export function typeToJson(type) {
  return JSON.stringify(notation(type));
}

function notation(type) {
  if (typeof type === "string") return type;
  switch (type.kind) {
    case "object":
      return [
        "object",
        Object.fromEntries(sortedKeys(type.attributes).map((name) => [name, notation(type.attributes[name])])),
      ];
    case "tuple":
      return ["tuple", type.elements.map(notation)];
    default:
      return [type.kind, notation(type.element)];
  }
}

/** Parses a type in the protocol's JSON notation. */
export function typeFromJson(json) {
  return parse(JSON.parse(json), 0);
}

function parse(document, depth) {
  if (depth > MAX_DEPTH) throw new RangeError(`a type has more than ${MAX_DEPTH} levels`);
  if (PRIMITIVES.includes(document)) return document;
  if (Array.isArray(document) && document.length >= 2) {
    const [kind, inner] = document;
    if (kind === "list" || kind === "set" || kind === "map") return { kind, element: parse(inner, depth + 1) };
    if (kind === "tuple" && Array.isArray(inner)) {
      return { kind, elements: inner.map((element) => parse(element, depth + 1)) };
    }
    if (kind === "object" && typeof inner === "object" && inner !== null && !Array.isArray(inner)) {
      const attributes = Object.create(null);
      for (const name of Object.keys(inner)) attributes[name] = parse(inner[name], depth + 1);
      return { kind, attributes };
    }
  }
  throw new TypeError(`${JSON.stringify(document)} is not a type`);
}

/** Returns the names of an object in the order of their UTF-8 bytes. */
export function sortedKeys(object) {
  return Object.keys(object).sort(compareCodePoints);
}

/** Compares strings by code points, which is the order of their UTF-8 bytes. */
export function compareCodePoints(left, right) {
  const [a, b] = [left[Symbol.iterator](), right[Symbol.iterator]()];
  for (;;) {
    const [x, y] = [a.next(), b.next()];
    if (x.done || y.done) return x.done && y.done ? 0 : x.done ? -1 : 1;
    const difference = x.value.codePointAt(0) - y.value.codePointAt(0);
    if (difference !== 0) return difference;
  }
}

/** Returns a type for messages. */
export function typeName(type) {
  if (typeof type === "string") return type;
  if (type.kind === "object" || type.kind === "tuple") return type.kind;
  return `${type.kind} of ${typeName(type.element)}`;
}
