"""tfsumpy: its summary of a plan."""

import json

from outcome import Outcome, changed_plan, run

outcome = Outcome()
outcome.step("apply, plan, show -json")
changed_plan()

outcome.step("summary as JSON")
summary = json.loads(run("tfsumpy", "plan.json", "-o", "json", "--detailed"))
actions = {resource["identifier"]: resource["action"] for resource in summary["resources"]}
outcome.equal("an action", actions['terraform_data.part["right"]'], "delete")
outcome.equal("an action", actions["module.part.terraform_data.it"], "update")
outcome.equal("the number of deleted objects", summary["summary"]["resources_to_destroy"], 4)
outcome.record("actions", actions)
outcome.record("summary", summary["summary"])

outcome.step("summary as text")
shown = run("tfsumpy", "plan.json", "--hide-changes")
outcome.contains("the summary", shown, "Total Changes:")
outcome.contains("the summary", shown, "Update: 2")
outcome.write()
