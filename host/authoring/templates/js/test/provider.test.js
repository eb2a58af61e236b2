import assert from "node:assert/strict";
import { test } from "node:test";

import { provider } from "../src/provider.js";

test("the provider has a resource and a data source", () => {
  assert.deepEqual(Object.keys(provider.resources), ["@@name@@_note"]);
  assert.deepEqual(Object.keys(provider.dataSources), ["@@name@@_greeting"]);
});
