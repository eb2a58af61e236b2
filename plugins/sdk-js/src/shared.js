// Memory, locks and rate limits that all instances of a provider configuration share during a run.
//
// The host runs the concurrent calls of a provider in separate instances with separate memory, so a module
// variable exists once per instance. What must exist once per run is kept here: a session, a token, a lock
// for each zone, the request rate of an API. Values are encoded as JSON. The host keeps them in memory only,
// redacts them in the provider's output, and limits a value to 64 KiB.

import { ProviderError } from "./diagnostics.js";
import { sleep } from "./run.js";
import { decodeUtf8, encodeUtf8 } from "./utf8.js";

/** The lease of a lock whose holder sets none, in milliseconds. */
const LEASE = 600_000;

/** Any state of a key. */
export const any = Object.freeze({ tag: "any" });
/** The state of a key without a value. */
export const absent = Object.freeze({ tag: "absent" });
/** The state of a key whose value has a version. */
export const version = (number) => ({ tag: "version", val: number });

/** The key is not in the expected state. */
const isConflict = (error) => error instanceof SharedError && error.reason === "conflict";

/** An operation that failed; `reason` is "conflict", "limit" or "interrupted". */
export class SharedError extends ProviderError {
  constructor(reason, problem = "") {
    const [summary, detail] = {
      conflict: ["Shared value changed", "Another instance changed the value at the same time."],
      limit: ["Shared memory limit reached", problem],
      interrupted: ["Interrupted", "The operation ended early because the run is interrupted."],
    }[reason];
    super(summary, detail);
    this.name = "SharedError";
    this.reason = reason;
  }
}

/** The memory of unit tests. A wait for a lock that is held is an error, because it would not end. */
export class Memory {
  #values = new Map();
  #locks = new Set();
  #rates = new Map();
  #last = 0;

  get(key) {
    return this.#values.get(key) ?? null;
  }

  put(key, value, expected) {
    this.#expect(key, expected);
    this.#values.set(key, { value, version: ++this.#last });
    return this.#last;
  }

  remove(key, expected) {
    this.#expect(key, expected);
    this.#values.delete(key);
  }

  lock(name, _lease) {
    if (this.#locks.has(name)) {
      throw new SharedError("limit", `the lock "${name}" is held by the same test, so the wait would not end`);
    }
    this.#locks.add(name);
    return { renew: () => true, release: () => this.#locks.delete(name) };
  }

  take(name, { events, seconds, burst }) {
    if (events < 1 || seconds < 1 || burst < 1) {
      throw new SharedError("limit", "a rate has at least one event per period, and a burst of one");
    }
    const interval = (seconds * 1000) / events;
    const now = Date.now();
    const next = Math.max(this.#rates.get(name) ?? now, now);
    this.#rates.set(name, next + interval);
    if (sleep(Math.max(0, Math.ceil(next - now - interval * (burst - 1))))) throw new SharedError("interrupted");
  }

  #expect(key, expected) {
    const current = this.#values.get(key)?.version;
    const isExpected =
      expected.tag === "any" || current === (expected.tag === "absent" ? undefined : expected.val);
    if (!isExpected) throw new SharedError("conflict");
  }
}

let host = new Memory();

/** Replaces the memory, for tests: `setMemory(new Memory())`. Returns the previous one. */
export function setMemory(next) {
  const previous = host;
  host = next;
  return previous;
}

/** Returns the value of a key and its version, {value, version}, or null. */
export function get(key) {
  const found = host.get(key);
  return found && { value: JSON.parse(decodeUtf8(Uint8Array.from(found.value))), version: found.version };
}

/**
 * Sets the value of a key that is in the expected state: `any`, `absent` or `version(number)`. Returns the new
 * version, or null if the key is in another state.
 */
export function put(key, value, expected = any) {
  const text = JSON.stringify(value);
  if (text === undefined) throw new TypeError(`the value of "${key}" is not JSON`);
  return orConflict(() => host.put(key, encodeUtf8(text), expected), null);
}

/** Removes the value of a key that is in the expected state. Returns whether it was. */
export function remove(key, expected = any) {
  return orConflict(() => {
    host.remove(key, expected);
    return true;
  }, false);
}

function orConflict(change, otherwise) {
  try {
    return change();
  } catch (error) {
    if (isConflict(error)) return otherwise;
    throw error;
  }
}

/**
 * Returns the value of a key, which the first instance creates. The other instances wait meanwhile. The
 * value is created again when `isValid` returns false. If `create` throws, the next instance tries it.
 */
export function once(key, create, { isValid = () => true } = {}) {
  const existing = () => {
    const found = get(key);
    return found !== null && isValid(found.value) ? found : null;
  };
  const found = existing();
  if (found !== null) return found.value;
  return withLock(`once/${key}`, () => {
    const current = existing();
    if (current !== null) return current.value;
    const value = create();
    put(key, value);
    return value;
  });
}

/** A lock that is held. The end of the instance releases it too. */
export class Lock {
  #held;

  constructor(held) {
    this.#held = held;
  }

  /**
   * Extends the lease to a number of milliseconds from now. Returns false if the lease has ended, and another
   * instance may hold the lock.
   */
  renew(lease) {
    return this.#held !== null && this.#held.renew(lease);
  }

  release() {
    this.#held?.release();
    this.#held = null;
  }
}

/** Waits for a lock. It is released by `release()`, or when its lease of some milliseconds ends. */
export function lock(name, { lease = LEASE } = {}) {
  return new Lock(host.lock(name, lease));
}

/** Returns the result of `action(lock)`, during which a lock is held. */
export function withLock(name, action, options) {
  const held = lock(name, options);
  try {
    return action(held);
  } finally {
    held.release();
  }
}

/**
 * A rate that all instances together do not exceed: a number of events in a number of seconds, of which
 * `burst` may occur at once after a pause. Limiters with one name share their events.
 */
export class RateLimiter {
  constructor(name, { events, seconds = 1, burst = 1 }) {
    this.name = name;
    this.rate = { events, seconds, burst };
  }

  /** Waits until one more event may occur. */
  wait() {
    host.take(this.name, this.rate);
  }
}
