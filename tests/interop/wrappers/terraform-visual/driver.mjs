// @terraform-visual/cli: its report of a plan, a page that reads the plan from a script.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";

// The standard input ends with xtask.
process.stdin.on("end", () => process.kill(0, "SIGKILL")).resume().unref();

const limit = { encoding: "utf8", timeout: 300_000, stdio: ["ignore", "pipe", "inherit"] };
const terraform = (...options) => execFileSync("terraform", options, limit);
const steps = [];
let checks = 0;

function equal(actual, expected, subject) {
  checks += 1;
  assert.deepEqual(actual, expected, subject);
}

steps.push("apply, plan, show -json");
terraform("init", "-no-color", "-input=false");
terraform("apply", "-no-color", "-input=false", "-auto-approve");
const changes = ["-var=revision=two", '-var=parts=["left","up"]'];
terraform("plan", "-no-color", "-input=false", "-out=plan.saved", ...changes);
writeFileSync("plan.json", terraform("show", "-json", "plan.saved"));

steps.push("report of the JSON plan");
const shown = execFileSync("terraform-visual", ["--plan", "plan.json", "--out", "report"], limit);
equal(shown.includes("Report generated successfully!"), true, "the output");
equal(existsSync("report/terraform-visual-report/index.html"), true, "the page");
const script = readFileSync("report/terraform-visual-report/plan.js", "utf8");

steps.push("plan in the report");
const page = {};
new Function("window", script)(page);
const plan = Object.values(page)[0];
const changed = plan.resource_changes.map((each) => [each.address, each.change.actions]);
const actions = Object.fromEntries(changed);
equal(actions['terraform_data.part["right"]'], ["delete"], "an action");
equal(actions["null_resource.trigger"], ["delete", "create"], "an action");
equal(Object.keys(actions).length, 10, "the number of changes");

writeFileSync(process.env.OUTCOME, JSON.stringify({ steps, checks, values: { actions } }));
