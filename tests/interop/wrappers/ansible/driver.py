"""Ansible: a playbook with the module community.general.terraform."""

import json
import os
import pathlib
import re

from outcome import Outcome, run, terraform

outcome = Outcome()
pathlib.Path("two.tfvars").write_text('revision = "two"\n', encoding="utf-8")
environment = {
    "ANSIBLE_LOCALHOST_WARNING": "False",
    "ANSIBLE_INVENTORY_UNPARSED_WARNING": "False",
    "ANSIBLE_NOCOLOR": "1",
    "PWD": os.getcwd(),
}
tasks = re.findall(
    r"^    - name: (.*)$",
    pathlib.Path(__file__).with_name("playbook.yml").read_text(encoding="utf-8"),
    re.MULTILINE,
)

outcome.step("plan, apply, check mode, targets, workspace, error, destroy by a playbook")
playbook = str(pathlib.Path(__file__).with_name("playbook.yml"))
shown = run("ansible-playbook", "-v", playbook, environment=environment)
recap = dict(
    re.findall(
        r"(\w+)=(\d+)", shown.splitlines()[-2] if shown.endswith("\n\n") else shown.splitlines()[-1]
    )
)
outcome.equal("the successful tasks", int(recap["ok"]), len(tasks))
outcome.equal("the failed tasks", recap["failed"], "0")
outcome.equal("the ignored tasks", recap["ignored"], "1")
outcome.record("recap", recap)
outcome.record("results", json.loads(pathlib.Path("results.json").read_text(encoding="utf-8")))

outcome.step("workspace list, state list")
outcome.equal("the workspaces", terraform("workspace", "list").split(), ["*", "default"])
outcome.equal("the objects", terraform("state", "list"), "")
outcome.equal("the file exists", os.path.exists("greeting.txt"), False)
outcome.write()
