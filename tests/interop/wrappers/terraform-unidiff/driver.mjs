// @ahmadnassri/terraform-unidiff: a diff of each change of a plan.

import { changedPlan, equal, record, run, step, write } from "../plan.mjs";

step("apply, plan, show -json");
changedPlan();

step("diff of the JSON plan");
const shown = run("terraform-unidiff", "plan.json");
const diffs = shown.split(/^Index: /m).slice(1);
const byAddress = Object.fromEntries(diffs.map((diff) => [diff.split("\n")[0], diff]));
const trigger = byAddress["null_resource.trigger"];
const replacement = "-  revision: one\n+  revision: two\n";
equal(trigger.includes(replacement), true, `a replaced object: ${trigger}`);
const added = byAddress['terraform_data.part["up"]'];
equal(added.includes("+input: up two\n"), true, `an added object: ${added}`);
const inner = byAddress["module.part.terraform_data.it"];
equal(inner.includes("-input: inner one\n"), true, `an object of a module: ${inner}`);
record("addresses", Object.keys(byAddress));
record("added", added);
write();
