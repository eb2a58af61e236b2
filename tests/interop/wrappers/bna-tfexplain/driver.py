"""tfexplain: its summaries of a plan in JSON and of a saved plan."""

import json

from outcome import Outcome, changed_plan, run

outcome = Outcome()
outcome.step("apply, plan, show -json")
changed_plan()

outcome.step("summary of the JSON plan")
shown = run("tfexplain", "plan", "plan.json", "--show-fields")
for line in ["Create: 1", "Update: 2", "Replace: 3", "Delete: 1", "Terraform version: 1.11.4"]:
    outcome.contains("the summary", shown, f"{line}\n")
outcome.contains("the summary", shown, 'terraform_data.part["right"]: delete')

outcome.step("summary of the saved plan by `terraform show -json`")
other = run("tfexplain", "plan", "plan.saved", "--show-fields")
outcome.equal("the summary", other.replace("plan.saved", "plan.json"), shown)

outcome.step("risk as JSON")
risk = json.loads(run("tfexplain", "plan", "plan.json", "--format", "json"))
outcome.record("risk", json.loads(json.dumps(risk, sort_keys=True).replace("plan.json", "")))

outcome.step("exit code by action")
run("tfexplain", "plan", "plan.json", "--fail-on", "delete", code=2)
outcome.write()
