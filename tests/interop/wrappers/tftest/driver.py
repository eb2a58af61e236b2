"""tftest: a fixture's setup, plan, apply, output, state and destroy."""

import os

import tftest
from outcome import Outcome

outcome = Outcome()
# tftest removes TF_LOG from the environment of the program.
test = tftest.TerraformTest(".", basedir=os.getcwd())

outcome.step("setup")
shown = test.setup(workspace_name="trial")
outcome.contains("the output of setup", shown, "Terraform has been successfully initialized!")
outcome.contains("the output of setup", shown, 'Created and switched to workspace "trial"!')

outcome.step("plan")
plan = test.plan(output=True, tf_vars={"revision": "two"})
outcome.equal("the number of planned resources", len(plan.resource_changes), 9)
outcome.equal(
    "a planned value",
    plan.resources["null_resource.trigger"]["values"]["triggers"],
    {"revision": "two"},
)
outcome.equal(
    "a planned module",
    plan.modules["module.part"].resources["terraform_data.it"]["values"]["input"],
    "inner two",
)
outcome.equal("a variable", plan.variables["revision"], "two")
outcome.equal(
    "a planned action",
    plan.resource_changes["data.local_file.greeting"]["change"]["actions"],
    ["read"],
)
outcome.record("planned", sorted(plan.resource_changes))

outcome.step("apply")
shown = test.apply(tf_vars={"revision": "two"})
outcome.contains(
    "the output of apply", shown, "Apply complete! Resources: 8 added, 0 changed, 0 destroyed."
)

outcome.step("output")
outputs = test.output()
outcome.equal("an output", outputs["greeting"], "hello two\n")
outcome.equal("an output", outputs["parts"], ["left two", "right two"])
outcome.equal("the length of a sensitive output", len(outputs["secret"]), 12)
outcome.equal("the sensitive outputs", list(outputs.sensitive), ["secret"])

outcome.step("state pull")
state = test.state_pull()
outcome.equal("the number of resources", len(state.resources), 7)
outcome.equal(
    "a value in the state",
    state.resources["None.local_file.greeting"]["instances"][0]["attributes"]["content"],
    "hello two\n",
)
outcome.record("state", sorted(state.resources))

outcome.step("plan without changes")
outcome.contains(
    "the plan",
    test.plan(tf_vars={"revision": "two"}),
    "No changes. Your infrastructure matches the configuration.",
)

outcome.step("error")
try:
    test.plan(tf_vars={"parts": "no list"})
except tftest.TerraformTestError as error:
    outcome.contains("the error", str(error), "Extra characters after expression")
else:
    outcome.fail("a plan with an invalid variable succeeded")

outcome.step("destroy")
outcome.contains(
    "the output of destroy", test.destroy(), "Destroy complete! Resources: 8 destroyed."
)
outcome.equal("the file exists", os.path.exists("greeting.txt"), False)
outcome.write()
