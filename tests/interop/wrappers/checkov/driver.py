"""checkov: its framework terraform_plan with two checks, of which one fails."""

import json
import pathlib
import shutil

from outcome import Outcome, changed_plan, run

outcome = Outcome()
pathlib.Path("checks").mkdir()
pathlib.Path("checks/__init__.py").touch()
shutil.copy(pathlib.Path(__file__).with_name("password_length.py"), "checks")
outcome.step("apply, plan, show -json")
changed_plan()
scan = (
    "checkov",
    "-f",
    "plan.json",
    "--framework",
    "terraform_plan",
    "--external-checks-dir",
    "checks",
    "--skip-download",
    "-o",
    "json",
)

outcome.step("checks of the JSON plan")
report = json.loads(run(*scan, code=1))
outcome.equal("the check type", report["check_type"], "terraform_plan")
ours = {
    kind: [
        (check["check_id"], check["resource"])
        for check in report["results"][kind]
        if "TRIAL" in check["check_id"]
    ]
    for kind in ["passed_checks", "failed_checks"]
}
outcome.equal(
    "the passed checks", ours["passed_checks"], [("CKV_TRIAL_1", "random_password.secret")]
)
outcome.equal(
    "the failed checks", ours["failed_checks"], [("CKV_TRIAL_2", "random_password.secret")]
)
outcome.equal("the parsing errors", report["results"]["parsing_errors"], [])
outcome.record("summary", report["summary"])

outcome.step("one check")
run(*scan, "--check", "CKV_TRIAL_1")
outcome.write()
