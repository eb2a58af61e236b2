// @terraform-visual/cli: its report of a plan, a page that reads the plan from a script.

import { existsSync, readFileSync } from "node:fs";

import { changedPlan, equal, record, run, step, write } from "../plan.mjs";

step("apply, plan, show -json");
changedPlan();

step("report of the JSON plan");
const shown = run("terraform-visual", "--plan", "plan.json", "--out", "report");
equal(shown.includes("Report generated successfully!"), true, "the output");
equal(existsSync("report/terraform-visual-report/index.html"), true, "the page");
const script = readFileSync("report/terraform-visual-report/plan.js", "utf8");

step("plan in the report");
const page = {};
new Function("window", script)(page);
const changes = page.TF_PLAN.resource_changes;
const actions = Object.fromEntries(changes.map((each) => [each.address, each.change.actions]));
equal(actions['terraform_data.part["right"]'], ["delete"], "an action");
equal(actions["null_resource.trigger"], ["delete", "create"], "an action");
equal(changes.length, 10, "the number of changes");
record("actions", actions);
write();
