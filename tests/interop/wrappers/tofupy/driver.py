"""tofupy: its class `Tofu`, which runs `tofu` and reads the JSON output of each command."""

import os
import pathlib

from outcome import Outcome
from tofupy import Tofu

outcome = Outcome()
# tofupy replaces TF_LOG in the environment of the program.
tofu = Tofu(cwd=os.getcwd(), log_level="INFO")

outcome.step("version -json")
outcome.equal("the version", tofu.version, "1.11.4")

outcome.step("init -json")
outcome.equal("the result of init", tofu.init(), True)

outcome.step("validate -json")
outcome.equal("the result of validate", tofu.validate().valid, True)
pathlib.Path("broken.tf").write_text('output "broken" {\n  value = var.missing\n}\n')
validation = tofu.validate()
os.remove("broken.tf")
outcome.equal("the result of validate", (validation.valid, validation.error_count), (False, 1))
outcome.equal(
    "the error", validation.diagnostics[0].summary, "Reference to undeclared input variable"
)

outcome.step("plan -json")
events = []
handlers = {
    "planned_change": lambda event: events.append(event["change"]["resource"]["addr"]) or True
}
log, plan = tofu.plan(
    variables={"revision": "two"}, plan_file=pathlib.Path("plan.saved"), event_handlers=handlers
)
outcome.equal("the errors", log.errors, [])
outcome.equal("the planned changes", (log.added, log.changed, log.removed), (8, 0, 0))
outcome.equal("the number of events", len(events), 9)
outcome.equal("the number of changes in the plan", len(plan.resource_changes), 9)
outcome.record("events", sorted(events))

outcome.step("apply -json")
log = tofu.apply(plan_file=pathlib.Path("plan.saved"))
outcome.equal("the applied changes", (log.added, log.changed, log.removed), (8, 0, 0))
outcome.equal("the errors", log.errors, [])

outcome.step("output -json")
outputs = tofu.output()
outcome.equal("an output", outputs["parts"].value, ["left two", "right two"])
outcome.equal("a sensitive output", outputs["secret"].sensitive, True)

outcome.step("state pull, show -json")
state = tofu.state()
outcome.equal("the length of the lineage", len(state.lineage), 36)
outcome.equal(
    "an object",
    state.root_module.resources["null_resource.trigger"].values["triggers"],
    {"revision": "two"},
)
outcome.equal(
    "an object of a module",
    state.root_module.child_modules["module.part"]
    .resources["module.part.terraform_data.it"]
    .values["input"],
    "inner two",
)
outcome.equal("an output of the state", state.outputs["greeting"].value, "hello two\n")
outcome.record("resources", sorted(state.root_module.resources))

outcome.step("error")
log, plan = tofu.plan(variables={"parts": "no list"})
outcome.equal(
    "the error", [error.summary for error in log.errors], ["Extra characters after expression"]
)
outcome.equal("the plan", plan, None)

outcome.step("destroy")
log = tofu.destroy()
outcome.equal("the destroyed objects", log.removed, 8)
outcome.equal("the file exists", os.path.exists("greeting.txt"), False)
outcome.write()
