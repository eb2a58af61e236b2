"""blastcheck: its manifest of the impact of a plan."""

import json

from outcome import Outcome, changed_plan, run

outcome = Outcome()
outcome.step("apply, plan, show -json")
changed_plan()

outcome.step("manifest of the JSON plan")
manifest = json.loads(run("blastcheck", "--json", "plan.json"))
changes = {change["address"]: change["actions"] for change in manifest["changes"]}
outcome.equal("the number of changes", len(changes), 7)
outcome.equal("an action", changes["null_resource.trigger"], ["delete", "create"])
outcome.equal("an action", changes['terraform_data.part["right"]'], ["delete"])
outcome.equal("the version", manifest["source"]["tool_version"], "1.11.4")
outcome.record("changes", manifest["changes"])

outcome.step("manifest of the saved plan by `terraform show -json`")
other = json.loads(run("blastcheck", "--json", "plan.saved"))
outcome.equal("the changes", other["changes"], manifest["changes"])

outcome.step("text and exit code by verdict")
outcome.contains(
    "the text", run("blastcheck", "--text", "--no-color", "plan.json"), "7 change(s) assessed"
)
run("blastcheck", "--json", "--fail-on", "caution", "plan.json", code=2)
outcome.write()
