// The outcome of a driver in JavaScript, and the plan that it reads.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { writeFileSync } from "node:fs";

// The standard input ends with xtask.
process.stdin.on("end", () => process.kill(0, "SIGKILL")).resume().unref();

const CHANGES = ["-var=revision=two", '-var=parts=["left","up"]'];
const outcome = { steps: [], checks: 0, values: {} };

/** Runs a command that must succeed, and returns its standard output. */
export function run(command, ...options) {
  console.log(`$ ${command} ${options.join(" ")}`);
  const stdio = ["ignore", "pipe", "inherit"];
  return execFileSync(command, options, { encoding: "utf8", timeout: 300_000, stdio });
}

export function step(name) {
  outcome.steps.push(name);
}

export function equal(actual, expected, subject) {
  outcome.checks += 1;
  assert.deepEqual(actual, expected, subject);
}

/** Records a value that must be the same with Terraform. */
export function record(name, value) {
  outcome.values[name] = value;
}

export function write() {
  writeFileSync(process.env.OUTCOME, JSON.stringify(outcome));
}

/** Applies the configuration, and saves a plan of changes as `plan.json`. */
export function changedPlan() {
  run("terraform", "init", "-no-color", "-input=false");
  run("terraform", "apply", "-no-color", "-input=false", "-auto-approve");
  run("terraform", "plan", "-no-color", "-input=false", "-out=plan.saved", ...CHANGES);
  writeFileSync("plan.json", run("terraform", "show", "-json", "plan.saved"));
}
