// HTTP requests through the host, which checks each request against policy and provides TLS.

import { interrupted } from "./run.js";
import { decodeUtf8, encodeUtf8 } from "./utf8.js";

const PART = 64 * 1024;
/** The methods of requests that change nothing. */
const SAFE_METHODS = ["GET", "HEAD", "OPTIONS"];

/**
 * A request without a response, or with an incomplete one. `reason` is "denied", "invalid",
 * "timed-out", "too-large", "interrupted" or "failed".
 */
export class HttpError extends Error {
  constructor(reason, message) {
    super(message);
    this.name = "HttpError";
    this.reason = reason;
  }
}

/** A response with any status. The names of `headers` are in lower case. */
export class Response {
  #read;
  #bytes = null;

  /** @param read returns at most a number of further bytes; none after the last ones */
  constructor(status, headers, read) {
    this.status = status;
    this.headers = headers;
    this.#read = read;
  }

  /** Returns an iterator of the parts of the body, as the server sends it. */
  *parts() {
    for (let part = this.#read(PART); part.length > 0; part = this.#read(PART)) yield part;
  }

  /** Returns the complete body. */
  bytes() {
    if (this.#bytes === null) {
      const parts = [...this.parts()].map((part) => Uint8Array.from(part));
      this.#bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
      let position = 0;
      for (const part of parts) {
        this.#bytes.set(part, position);
        position += part.length;
      }
    }
    return this.#bytes;
  }

  /** Returns the body as UTF-8. */
  text() {
    return decodeUtf8(this.bytes());
  }

  /** Returns the body as JSON. */
  json() {
    return JSON.parse(this.text());
  }
}

let transport = () => {
  throw new HttpError("failed", "there is no host; a test must call `setTransport` first");
};

/** Replaces the function that sends requests, for tests. */
export function setTransport(next) {
  transport = next;
}

/**
 * Sends a request, and waits for the head of the response. Redirects are returned, not followed.
 * `json` is encoded as the body. `timeout` limits in milliseconds the time until the first byte, and
 * the time between two parts of the body.
 *
 * `endsOnInterrupt` is whether the request ends with the reason "interrupted" if the run is interrupted
 * while it is in progress. By default, requests with the methods GET, HEAD and OPTIONS do, and others do
 * not, because their effect would be unknown. A request that begins after the interruption does not end.
 */
export function request(
  method,
  url,
  { headers = {}, body = new Uint8Array(0), json, timeout = null, endsOnInterrupt = null } = {},
) {
  const fields = Object.entries(headers).map(([name, value]) => [name, encodeUtf8(String(value))]);
  let content = typeof body === "string" ? encodeUtf8(body) : body;
  if (json !== undefined) {
    content = encodeUtf8(JSON.stringify(json));
    fields.push(["content-type", encodeUtf8("application/json")]);
  }
  const timeouts = { connect: null, firstByte: timeout, betweenBytes: timeout };
  const ends = (endsOnInterrupt ?? SAFE_METHODS.includes(method.toUpperCase())) && !interrupted();
  const head = { method, url, headers: fields, timeouts, endsOnInterrupt: ends };
  return transport({ head, body: content });
}
