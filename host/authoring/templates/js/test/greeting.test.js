import assert from "node:assert/strict";
import { test } from "node:test";

import { Context } from "wardian-sdk";

import { Greeting, validateName } from "../src/greeting.js";

test("a greeting contains the name", () => {
  const read = new Greeting().read({ name: "Ada", text: null }, new Context());
  assert.deepEqual(read, { name: "Ada", text: "Hello, Ada!" });
});

test("an empty name is rejected", () => {
  assert.match(validateName(""), /empty/);
  assert.equal(validateName("Ada"), null);
});
