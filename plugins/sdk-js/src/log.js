// Structured log lines. A component sends them to the host; tests can collect them.

let sink = { enabled: () => false, write: () => {} };

/** Sets the receiver of log lines: {enabled(level), write(level, module, message, fields)}. */
export function setLogSink(next) {
  sink = next;
}

const line = (level) => (message, fields = {}) => {
  if (!sink.enabled(level)) return;
  sink.write(level, "", String(message), Object.entries(fields).map(([name, value]) => [name, String(value)]));
};

/** `log.info("message", {field: value})`, and the other levels. */
export const log = {
  trace: line("trace"),
  debug: line("debug"),
  info: line("info"),
  warn: line("warn"),
  error: line("error"),
};

/** Sends `console` to the log. */
export function redirectConsole() {
  const print =
    (level) =>
    (...parts) =>
      log[level](parts.map(String).join(" "));
  globalThis.console = Object.assign(globalThis.console ?? {}, {
    trace: print("trace"),
    debug: print("debug"),
    log: print("info"),
    info: print("info"),
    warn: print("warn"),
    error: print("error"),
  });
}
