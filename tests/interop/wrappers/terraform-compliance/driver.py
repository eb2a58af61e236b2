"""terraform-compliance: scenarios about a plan in JSON, and about a saved plan, which it converts
by `terraform show -json`."""

import pathlib
import shutil

from outcome import Outcome, changed_plan, run

outcome = Outcome()
here = pathlib.Path(__file__).parent
for name in ["resources", "failing"]:
    pathlib.Path(name).mkdir()
    shutil.copy(here / f"{name}.feature", name)
outcome.step("apply, plan, show -json")
changed_plan()
check = ("terraform-compliance", "--no-ansi")


def results(shown):
    return [line for line in shown.splitlines() if " passed" in line or " failed" in line]


outcome.step("scenarios about the JSON plan")
shown = results(run(*check, "-f", "resources", "-p", "plan.json"))
outcome.equal("the results", shown[:2], ["1 features (1 passed)", "4 scenarios (4 passed)"])
outcome.record("results", shown)

outcome.step("scenarios about the saved plan by `terraform show -json`")
outcome.equal("the results", results(run(*check, "-f", "resources", "-p", "plan.saved")), shown)

outcome.step("a scenario that fails")
shown = run(*check, "-f", "failing", "-p", "plan.json", code=1)
outcome.contains("the results", shown, "1 scenarios (0 passed, 1 failed)")
outcome.write()
