// The interruption of a run, for example by Ctrl-C.

let host = { interrupted: () => false, sleep: () => false };

/** Replaces the host, for tests: {interrupted(), sleep(milliseconds)}. */
export function setRun(next) {
  host = next;
}

/** Whether the run is interrupted. A call should then end soon, and return what it has reached. */
export function interrupted() {
  return host.interrupted();
}

/** Waits, at most until the run is interrupted. Returns whether it is interrupted. */
export function sleep(milliseconds) {
  // Rounded up: a wait is never shorter than requested.
  return host.sleep(Math.max(0, Math.ceil(milliseconds)));
}
