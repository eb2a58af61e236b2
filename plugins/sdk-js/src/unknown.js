import { MessageWriter } from "./msgpack.js";

/**
 * A value that is not known before an apply. `unknown` is the value about which nothing is known;
 * `unknown.refined({notNull: true, prefix: "i-"})` states what is known already.
 */
export class Unknown {
  #refinement;

  /** @param refinement the refinements in MessagePack, or null if there are none. */
  constructor(refinement = null) {
    this.#refinement = refinement;
    Object.freeze(this);
  }

  get refinement() {
    return this.#refinement;
  }

  /** Returns an unknown value with refinements. A prefix may have 255 bytes. */
  refined({ notNull = false, prefix = "" }) {
    const entries = [];
    if (notNull) entries.push((writer) => writer.integer(1).bool(false));
    if (prefix !== "") entries.push((writer) => writer.integer(2).string(prefix));
    if (entries.length === 0) return unknown;
    const writer = new MessageWriter().mapHeader(entries.length);
    for (const write of entries) write(writer);
    return new Unknown(writer.finish());
  }

  toString() {
    return "(known after apply)";
  }
}

export const unknown = new Unknown();

export function isUnknown(value) {
  return value instanceof Unknown;
}
