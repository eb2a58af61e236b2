// The exports of a component. It imports interfaces of the host, so only a component can load it.

import hostLog from "wardian:plugin/log@0.1.0";

import { redirectConsole, setLogSink } from "./log.js";
import { Service, unknownAction } from "./service.js";

/** The results of a list: none, because this SDK does not support list resources. */
class ListEvents {
  next() {
    return [];
  }
}

/** The events of an action, which does not exist. */
class ActionEvents {
  #action;

  constructor(action) {
    this.#action = action;
  }

  next() {
    const action = this.#action;
    this.#action = null;
    return action === null ? null : { tag: "completed", val: [unknownAction(action)] };
  }
}

/** Returns the export `provider` of a component: `export const provider = exportProvider(...)`. */
export function exportProvider(provider) {
  setLogSink({
    enabled: (level) => hostLog.enabled(level),
    write: (level, module, message, fields) => hostLog.write(level, module, message, fields),
  });
  redirectConsole();
  const service = new Service(provider);
  const exports = { ListEvents, ActionEvents };
  for (const name of Object.getOwnPropertyNames(Service.prototype)) {
    if (name !== "constructor") exports[name] = service[name].bind(service);
  }
  exports.listResource = () => new ListEvents();
  exports.invokeAction = ({ actionType }) => new ActionEvents(actionType);
  return exports;
}
