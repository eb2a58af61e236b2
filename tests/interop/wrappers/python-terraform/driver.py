"""python-terraform: all commands of its class `Terraform`."""

import os

from outcome import Outcome
from python_terraform import IsFlagged, IsNotFlagged, Terraform, TerraformCommandError

outcome = Outcome()
program = Terraform(working_dir=os.getcwd(), variables={"revision": "two"}, parallelism=3)


def ended(subject, result, code=0):
    """Checks the exit code, and returns the standard output."""
    print(subject, *result, sep="\n", flush=True)
    outcome.equal(f"the exit code of {subject}", result[0], code)
    return result[1]


outcome.step("init")
# Its `init` passes the options of `plan` too: -var-file, -parallelism and -target.
shown = ended(
    "init",
    Terraform(working_dir=os.getcwd(), variables={"revision": "two"}).init(no_color=IsFlagged),
)
outcome.contains("the output of init", shown, "Terraform has been successfully initialized!")

outcome.step("plan")
shown = ended("plan", program.plan(out="plan.saved"), code=2)
outcome.contains("the plan", shown, "Plan: 8 to add, 0 to change, 0 to destroy.")

outcome.step("apply")
shown = ended("apply", program.cmd("apply", "plan.saved", no_color=IsFlagged))
outcome.contains(
    "the output of apply", shown, "Apply complete! Resources: 8 added, 0 changed, 0 destroyed."
)
ended("apply without changes", program.apply(skip_plan=True))
outcome.equal("the exit code of a plan without changes", program.plan()[0], 0)

outcome.step("output")
outputs = program.output()
outcome.equal("an output", outputs["parts"]["value"], ["left two", "right two"])
outcome.equal("a sensitive output", outputs["secret"]["sensitive"], True)
outcome.equal("the value of one output", program.output("greeting", full_value=True), "hello two\n")

outcome.step("state")
outcome.equal("the version of the state", program.tfstate.version, 4)
types = sorted({resource["type"] for resource in program.tfstate.resources})
outcome.equal("the number of types", len(types), 6)
outcome.record("types", types)
listed = ended("state list", program.cmd("state list")).split()
outcome.equal("the number of listed objects", len(listed), 9)
outcome.record("listed", sorted(listed))
ended("taint", program.cmd("taint", "null_resource.trigger"))
outcome.contains(
    "the plan",
    ended("plan", program.plan(), code=2),
    "null_resource.trigger is tainted, so must be replaced",
)
ended("untaint", program.cmd("untaint", "null_resource.trigger"))
ended("state rm", program.cmd("state rm", "null_resource.trigger"))
ended("state rm", program.cmd("state rm", "random_password.secret"))
shown = ended(
    "import", program.cmd("import", "random_password.secret", "abcdefghijkl", no_color=IsFlagged)
)
outcome.contains("the output of import", shown, "Import successful!")
ended("refresh", program.cmd("refresh", no_color=IsFlagged, var={"revision": "two"}))
outcome.equal("the imported value", program.output("secret", full_value=True), "abcdefghijkl")

outcome.step("workspace")
ended("workspace new", program.create_workspace("trial"))
outcome.equal("the workspace", ended("workspace show", program.show_workspace()).strip(), "trial")
ended("workspace select", program.set_workspace("default"))
ended("workspace delete", program.delete_workspace("trial"))
outcome.equal(
    "the workspaces",
    ended("workspace list", program.cmd("workspace list")).split(),
    ["*", "default"],
)

outcome.step("error")
try:
    program.plan(var={"parts": "no list"}, raise_on_error=True)
except TerraformCommandError as error:
    outcome.equal("the exit code of the error", error.returncode, 1)
    outcome.contains("the error", error.err, "Invalid value for input variable")
else:
    outcome.fail("a plan with an invalid variable succeeded")

outcome.step("destroy")
shown = ended("destroy", program.destroy(force=IsNotFlagged, auto_approve=IsFlagged))
outcome.contains("the output of destroy", shown, "Destroy complete! Resources: 7 destroyed.")
outcome.equal("the file exists", os.path.exists("greeting.txt"), False)
outcome.write()
