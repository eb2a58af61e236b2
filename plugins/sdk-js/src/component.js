// The exports of a component. It imports interfaces of the host, so only a component can load it.

import hostHttp from "wardian:plugin/http@0.1.1";
import hostLog from "wardian:plugin/log@0.1.1";
import hostRun from "wardian:plugin/run@0.1.1";
import hostShared from "wardian:plugin/shared@0.1.1";

import { HttpError, Response, setTransport } from "./http.js";
import { redirectConsole, setLogSink } from "./log.js";
import { setRun } from "./run.js";
import { Service } from "./service.js";
import { SharedError, setMemory } from "./shared.js";
import { decodeUtf8 } from "./utf8.js";

/**
 * Returns the exports of a component:
 * `export const { providerBase, ephemeralResources, providerFunctions } = exportProvider(...)`.
 */
export function exportProvider(provider) {
  setLogSink({
    enabled: (level) => hostLog.enabled(level),
    write: (level, module, message, fields) => hostLog.write(level, module, message, fields),
  });
  redirectConsole();
  setTransport(send);
  setRun({ interrupted: () => hostRun.interrupted(), sleep: (milliseconds) => hostRun.sleep(milliseconds) });
  setMemory(memory);
  const service = new Service(provider, record);
  const calls = {};
  for (const name of Object.getOwnPropertyNames(Service.prototype)) {
    if (name !== "constructor") calls[name] = service[name].bind(service);
  }
  return { providerBase: calls, ephemeralResources: calls, providerFunctions: calls };
}

function send(request) {
  const { status, headers, body } = hostedHttp(() => hostHttp.send(request));
  const fields = Object.create(null);
  for (const [name, value] of headers) {
    const [key, text] = [name.toLowerCase(), decodeUtf8(Uint8Array.from(value))];
    fields[key] = key in fields ? `${fields[key]}, ${text}` : text;
  }
  return new Response(status, fields, (most) => hostedHttp(() => body.read(most)));
}

/** The shared memory of the host. */
const memory = {
  get: (key) => hostShared.get(key) ?? null,
  put: (key, value, expected) => hostedShared(() => hostShared.put(key, value, expected)),
  remove: (key, expected) => hostedShared(() => hostShared.remove(key, expected)),
  lock(name, lease) {
    const held = hostedShared(() => hostShared.lock(name, lease));
    return { renew: (next) => held.renew(next), release: () => held[Symbol.dispose]() };
  },
  take: (name, rate) => hostedShared(() => hostShared.take(name, rate)),
};

const hostedHttp = (call) =>
  hosted(call, (tag, val) => new HttpError(tag, val ?? (tag === "denied" ? "the policy denies the request" : tag)));
const hostedShared = (call) => hosted(call, (tag, val) => new SharedError(tag, tag === "limit" ? val : ""));

/** Calls the host, and converts its errors. */
function hosted(call, errorOf) {
  try {
    return call();
  } catch (error) {
    const { tag, val } = failure(error);
    if (tag === undefined) throw error;
    throw errorOf(tag, val);
  }
}

/** The error of a result is thrown itself, or as the payload of an exception. */
function failure(error) {
  return error?.payload ?? error ?? {};
}

function record(state, privateData) {
  try {
    hostRun.recordState({ state, private: privateData, identity: null });
  } catch (error) {
    const { tag, val } = failure(error);
    // If the host keeps no state for this call, the state is in the response.
    if (tag !== "unavailable") throw new Error(`the state could not be recorded: ${val ?? error}`);
  }
}
