import assert from "node:assert/strict";
import { test } from "node:test";

import { http, run } from "../src/index.js";

/** Returns whether a request ends if the run is interrupted. */
function ends(method, options) {
  let sent;
  http.setTransport((request) => {
    sent = request;
    return new http.Response(200, {}, () => []);
  });
  http.request(method, "https://api.example/a", options);
  return sent.head.endsOnInterrupt;
}

test("only requests that change nothing end if the run is interrupted", () => {
  for (const method of ["GET", "HEAD", "OPTIONS", "get"]) assert.equal(ends(method), true, method);
  for (const method of ["POST", "PUT", "PATCH", "DELETE", "PROPFIND"]) assert.equal(ends(method), false, method);
  assert.equal(ends("POST", { endsOnInterrupt: true }), true);
  assert.equal(ends("GET", { endsOnInterrupt: false }), false);
});

test("requests after an interruption continue", () => {
  run.setRun({ interrupted: () => true, sleep: () => true });
  try {
    assert.equal(ends("GET"), false);
    assert.equal(ends("POST", { endsOnInterrupt: true }), false);
  } finally {
    run.setRun({ interrupted: () => false, sleep: () => false });
  }
});
