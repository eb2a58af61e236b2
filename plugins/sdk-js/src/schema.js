// Schemas: what a block contains. `schema({attributes, blocks})` describes a resource, a data source
// or a provider; `attribute.string()`, `attribute.nested.list({...})` and `block.list({...})`
// describe its parts.

import { types, typeToJson } from "./types.js";

const NAME = /^[a-z_][a-z0-9_]*$/;

/** An attribute. Each method changes the attribute and returns it. */
export class Attribute {
  constructor(type, nested = null) {
    this.type = type;
    this.nested = nested;
    this.isRequired = false;
    this.isOptional = false;
    this.isComputed = false;
    this.isSensitive = false;
    this.isWriteOnly = false;
    this.isForceNew = false;
    this.isStable = false;
    this.defaultValue = undefined;
    this.text = "";
    this.deprecation = null;
    this.validators = [];
  }

  /** The configuration must set it. */
  required() {
    this.isRequired = true;
    return this;
  }

  /** The configuration may set it. */
  optional() {
    this.isOptional = true;
    return this;
  }

  /** The provider sets it, if the configuration does not. */
  computed() {
    this.isComputed = true;
    return this;
  }

  /** The value if the configuration sets none. The attribute is optional and computed. */
  default(value) {
    this.defaultValue = value;
    return this.optional().computed();
  }

  /** The value is not displayed. */
  sensitive() {
    this.isSensitive = true;
    return this;
  }

  /** The value is never stored; `context.config` contains it. */
  writeOnly() {
    this.isWriteOnly = true;
    return this;
  }

  /** A change of the value replaces the object. */
  forceNew() {
    this.isForceNew = true;
    return this;
  }

  /** An update does not change the computed value. */
  stable() {
    this.isStable = true;
    return this;
  }

  /** The description, in Markdown. */
  description(text) {
    this.text = text;
    return this;
  }

  /** The message names the alternative. */
  deprecated(message = "") {
    this.deprecation = message;
    return this;
  }

  /** Calls a function with each known value that is not null. It returns nothing, or the requirement:
   * "must be even". */
  validate(validator) {
    this.validators.push(validator);
    return this;
  }
}

const nestedType = (nesting, attributes) => {
  const object = types.object(typesOf(attributes));
  return nesting === "single" ? object : types[nesting](object);
};

const nested = (nesting) => (attributes) =>
  new Attribute(nestedType(nesting, attributes), { nesting, attributes });

/** Constructors of attributes. */
export const attribute = {
  string: () => new Attribute(types.string),
  number: () => new Attribute(types.number),
  bool: () => new Attribute(types.bool),
  dynamic: () => new Attribute(types.dynamic),
  list: (element) => new Attribute(types.list(element)),
  set: (element) => new Attribute(types.set(element)),
  map: (element) => new Attribute(types.map(element)),
  object: (attributes) => new Attribute(types.object(attributes)),
  tuple: (elements) => new Attribute(types.tuple(elements)),
  /** Objects whose attributes have properties of their own. */
  nested: { single: nested("single"), list: nested("list"), set: nested("set"), map: nested("map") },
};

const blockOf =
  (nesting) =>
  (contents, { minimum = 0, maximum = 0, forceNew = false } = {}) => ({
    nesting,
    contents: schema(contents),
    minimum,
    maximum,
    forceNew,
  });

/** Constructors of nested blocks: `block.list({attributes, blocks}, {minimum, maximum})`. */
export const block = {
  single: blockOf("single"),
  group: blockOf("group"),
  list: blockOf("list"),
  set: blockOf("set"),
  map: blockOf("map"),
};

/** Creates the schema of a block. Throws a TypeError that names the wrong part. */
export function schema({ version = 0, description = "", deprecated = null, attributes = {}, blocks = {} } = {}) {
  for (const name of [...Object.keys(attributes), ...Object.keys(blocks)]) {
    if (!NAME.test(name)) throw new TypeError(`${JSON.stringify(name)} is not the name of an attribute or block`);
    if (Object.hasOwn(attributes, name) && Object.hasOwn(blocks, name)) {
      throw new TypeError(`${name} is both an attribute and a block`);
    }
  }
  checkAttributes(attributes, "");
  return { version, description, deprecation: deprecated, attributes, blocks };
}

function checkAttributes(attributes, path) {
  for (const [name, one] of Object.entries(attributes)) {
    const at = path + name;
    if (!(one instanceof Attribute)) throw new TypeError(`${at} is not an attribute`);
    if (!one.isRequired && !one.isOptional && !one.isComputed) {
      throw new TypeError(`${at} must be required, optional or computed`);
    }
    if (one.isRequired && (one.isOptional || one.isComputed)) {
      throw new TypeError(`${at} is required, so it is neither optional nor computed and has no default`);
    }
    if (one.isWriteOnly && one.isComputed) throw new TypeError(`${at} is write-only, so it cannot be computed`);
    if (one.nested !== null) checkAttributes(one.nested.attributes, `${at}.`);
  }
}

function typesOf(attributes) {
  return Object.fromEntries(Object.entries(attributes).map(([name, one]) => [name, one.type]));
}

/** Returns the type of the objects that a schema describes. */
export function schemaType({ attributes, blocks }) {
  const all = typesOf(attributes);
  for (const [name, { nesting, contents }] of Object.entries(blocks)) all[name] = blockType(nesting, schemaType(contents));
  return types.object(all);
}

function blockType(nesting, object) {
  if (nesting === "single" || nesting === "group") return object;
  // The elements of a list or map whose types contain dynamic parts have different types.
  if (nesting !== "set" && typeToJson(object).includes('"dynamic"')) return types.dynamic;
  return types[nesting](object);
}

/** Returns the record of a schema. Blocks and nested objects refer to later entries of two lists. */
export function schemaRecord(root) {
  const blocks = [];
  const objects = [];

  const describe = (attributes) =>
    Object.entries(attributes).map(([name, one]) => {
      let type = { tag: "value", val: "" };
      if (one.nested === null) {
        type.val = typeToJson(one.type);
      } else {
        const index = objects.push(null) - 1;
        objects[index] = { attributes: describe(one.nested.attributes), nesting: one.nested.nesting };
        type = { tag: "nested", val: index };
      }
      return {
        name,
        type,
        description: markdown(one.text),
        required: one.isRequired,
        optional: one.isOptional,
        computed: one.isComputed,
        sensitive: one.isSensitive,
        writeOnly: one.isWriteOnly,
        deprecation: deprecationRecord(one.deprecation),
      };
    });

  const add = (contents) => {
    const index = blocks.push(null) - 1;
    const attributes = describe(contents.attributes);
    const blockTypes = Object.entries(contents.blocks).map(([typeName, inner]) => ({
      typeName,
      block: add(inner.contents),
      nesting: inner.nesting,
      minItems: inner.minimum,
      maxItems: inner.maximum,
    }));
    const description = markdown(contents.description);
    blocks[index] = { attributes, blockTypes, description, deprecation: deprecationRecord(contents.deprecation) };
    return index;
  };
  add(root);
  return { version: root.version, blocks, objects };
}

export function markdown(text) {
  return { text, kind: text === "" ? "plain" : "markdown" };
}

export function deprecationRecord(message) {
  if (message === null) return { tag: "none" };
  return message === "" ? { tag: "deprecated" } : { tag: "message", val: message };
}
