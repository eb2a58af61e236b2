import assert from "node:assert/strict";
import { test } from "node:test";

import { Context, unknown } from "wardian-sdk";

import { Note, validateTitle } from "../src/note.js";

test("a note has an ID", () => {
  const created = new Note().create({ title: "a", text: "b", id: unknown }, new Context());
  assert.deepEqual(created, { title: "a", text: "b", id: "note-a" });
});

test("an imported note is as created", () => {
  const created = new Note().create({ title: "a", text: "", id: unknown }, new Context());
  assert.deepEqual(new Note().import("a", new Context()), created);
});

test("invalid titles are rejected", () => {
  for (const title of ["", "ä".repeat(81)]) assert.match(validateTitle(title), /1 to 80/);
  assert.equal(validateTitle("ä".repeat(80)), null);
});
