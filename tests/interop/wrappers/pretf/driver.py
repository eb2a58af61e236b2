"""pretf: renders Python to configurations, and passes each command to `terraform`."""

import json
import pathlib
import shutil

from outcome import Outcome, run

outcome = Outcome()
for file in [pathlib.Path("main.tf"), pathlib.Path("part/main.tf")]:
    file.unlink()
shutil.copy(pathlib.Path(__file__).with_name("configuration.tf.py"), ".")

outcome.step("version")
shown = run("pretf", "version")
outcome.contains("the output of version", shown, "Pretf v0.7.3")
outcome.contains("the output of version", shown, "Terraform v1.11.4")

outcome.step("init")
outcome.contains(
    "the output of init",
    run("pretf", "init", "-no-color"),
    "Terraform has been successfully initialized!",
)

outcome.step("plan")
shown = run("pretf", "plan", "-no-color", "-detailed-exitcode", code=2)
outcome.contains("the plan", shown, "Plan: 3 to add, 0 to change, 0 to destroy.")

outcome.step("apply")
shown = run("pretf", "apply", "-no-color", "-auto-approve", "-var=revision=two")
outcome.contains(
    "the output of apply", shown, "Apply complete! Resources: 3 added, 0 changed, 0 destroyed."
)

outcome.step("output")
# pretf prints the commands that it runs before their output.
shown = run("pretf", "output", "-json", environment={"PRETF_VERBOSE": "0"})
outputs = json.loads(shown[shown.index("{") :])
outcome.equal("an output", outputs["right"]["value"], "right two")
outcome.equal("the words of a pet", outputs["pet"]["value"].count("-"), 2)

outcome.step("get_outputs")
code = (
    "import pathlib, json; from pretf.api import get_outputs;"
    " print(json.dumps(get_outputs(pathlib.Path('.'))))"
)
outcome.equal(
    "the outputs", json.loads(run("python", "-c", code).splitlines()[-1])["left"], "left two"
)

outcome.step("state")
listed = run("pretf", "state", "list").split()
outcome.equal(
    "the objects",
    [name for name in listed if "." in name and "/" not in name][-3:],
    ["random_pet.name", "terraform_data.left", "terraform_data.right"],
)

outcome.step("error")
shown = run("pretf", "apply", "-no-color", "-auto-approve", "-bogus", code=1)

outcome.step("destroy")
shown = run("pretf", "destroy", "-no-color", "-auto-approve")
outcome.contains("the output of destroy", shown, "Destroy complete! Resources: 3 destroyed.")
outcome.write()
