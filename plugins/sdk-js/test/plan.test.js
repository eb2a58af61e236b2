import assert from "node:assert/strict";
import { test } from "node:test";

import { attribute, block, isUnknown, schema, types } from "../src/index.js";
import { parseJson } from "../src/json.js";
import { planChange } from "../src/plan.js";
import { equal } from "../src/value.js";
import { inventory } from "../examples/inventory/provider.js";

const disk = {
  name: attribute.string().required(),
  size: attribute.number().default(8),
  serial: attribute.string().computed(),
};
const server = schema({
  attributes: {
    name: attribute.string().required().forceNew(),
    id: attribute.string().computed().stable(),
    address: attribute.string().computed(),
    disks: attribute.nested.set(disk).optional(),
  },
  blocks: { rule: block.list({ attributes: { port: attribute.number().required().forceNew() } }) },
});
const config = { name: "a", id: null, address: null, disks: [{ name: "x", size: null, serial: null }], rule: [{ port: 1 }] };

test("a create sets defaults and unknown values", () => {
  const { planned, requiresReplace } = planChange(server, config, null, config);
  assert.ok(isUnknown(planned.id) && isUnknown(planned.address) && isUnknown(planned.disks[0].serial));
  assert.equal(planned.disks[0].size, 8);
  assert.deepEqual(requiresReplace, []);
});

test("an update keeps stable values, and reports the attributes that require a replacement", () => {
  const prior = { ...config, id: "1", address: "b", disks: [{ name: "x", size: 8, serial: "s" }] };
  assert.ok(equal(planChange(server, config, prior, prior).planned, prior));
  const changed = { ...config, name: "b", rule: [{ port: 2 }] };
  const { planned, requiresReplace } = planChange(server, changed, prior, { ...prior, name: "b", rule: [{ port: 2 }] });
  assert.equal(planned.id, "1");
  assert.ok(isUnknown(planned.address));
  assert.deepEqual(requiresReplace, [["name"], ["rule", 0, "port"]]);
});

test("contradictory schemas are rejected", () => {
  const attributes = [
    attribute.string(),
    attribute.string().required().computed(),
    attribute.string().required().default("a"),
    attribute.string().optional().computed().writeOnly(),
    attribute.nested.list({ inner: attribute.string() }).optional(),
    "string",
  ];
  for (const one of attributes) assert.throws(() => schema({ attributes: { a: one } }), TypeError);
  assert.throws(() => schema({ attributes: { "A-b": attribute.string().optional() } }), /not the name/);
  assert.throws(() => schema({ attributes: { a: attribute.string().optional() }, blocks: { a: block.list({}) } }), /both/);
});

test("JSON is parsed without loss of precision", () => {
  assert.equal(parseJson("12345678901234567890"), 12345678901234567890n);
  assert.equal(parseJson("0.12345678901234567890123").digits, "0.12345678901234567890123");
  assert.deepEqual(parseJson('{"a":[1,null,true,"\\u00e4\\"\\\\"]}'), { a: [1, null, true, 'ä"\\'], __proto__: null });
  for (const text of ["", "{", "[1,]", '"a', "01x", "nul", '{"a" 1}', "[".repeat(100_000), "1 2"]) {
    assert.throws(() => parseJson(text), text.slice(0, 20));
  }
});

test("the example has a type for each part", () => {
  assert.equal(inventory.resources.inventory_item.type.attributes.tags.element, types.string);
});
