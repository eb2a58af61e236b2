import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { ProviderError, run, shared } from "../src/index.js";

beforeEach(() => {
  shared.setMemory(new shared.Memory());
});

test("values are set in the expected state", () => {
  assert.equal(shared.get("a"), null);
  const first = shared.put("a", { token: "ä" }, shared.absent);
  assert.equal(shared.put("a", 2, shared.absent), null);
  const second = shared.put("a", { token: "b" }, shared.version(first));
  assert.ok(second > first);
  assert.equal(shared.put("a", 3, shared.version(first)), null);
  assert.deepEqual(shared.get("a"), { value: { token: "b" }, version: second });
  assert.equal(shared.remove("a", shared.version(first)), false);
  assert.equal(shared.remove("a"), true);
  assert.equal(shared.get("a"), null);
  assert.throws(() => shared.put("a", undefined), TypeError);
});

test("a value is created once until it is invalid", () => {
  const create = (value) => () => value;
  assert.throws(() => shared.once("a", () => {
    throw new Error("no");
  }), /no/);
  assert.equal(shared.once("a", create(1)), 1);
  assert.equal(shared.once("a", create(2)), 1);
  assert.equal(shared.once("a", create(3), { isValid: (value) => value > 1 }), 3);
  assert.equal(shared.once("false", create(false)), false);
  assert.equal(shared.once("false", create(true)), false);
});

test("a lock is released", () => {
  const held = shared.lock("zone");
  assert.equal(held.renew(1000), true);
  assert.throws(() => shared.lock("zone"), ProviderError);
  held.release();
  assert.equal(held.renew(1000), false);
  assert.equal(shared.withLock("zone", () => 7), 7);
  assert.throws(() => shared.withLock("zone", () => {
    throw new Error("inside");
  }), /inside/);
  const next = shared.lock("zone");
  held.release();
  assert.throws(() => shared.lock("zone"), ProviderError, "a second release has no effect");
  next.release();
});

test("a rate spreads events, and its wait ends with an interruption", () => {
  let waited = 0;
  let isInterrupted = false;
  const sleep = (milliseconds) => {
    waited += milliseconds;
    return isInterrupted;
  };
  run.setRun({ interrupted: () => isInterrupted, sleep });
  try {
    const limiter = new shared.RateLimiter("api", { events: 60, seconds: 60, burst: 2 });
    limiter.wait();
    limiter.wait();
    assert.equal(waited, 0);
    limiter.wait();
    assert.ok(waited > 900 && waited <= 1000, String(waited));
    isInterrupted = true;
    assert.throws(() => limiter.wait(), { reason: "interrupted" });
    assert.throws(() => new shared.RateLimiter("never", { events: 0 }).wait(), { reason: "limit" });
  } finally {
    run.setRun({ interrupted: () => false, sleep: () => false });
  }
});
