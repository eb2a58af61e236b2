"""pytest-terraform: a suite whose module the plugin creates once, and destroys at the end."""

import json
import os
import pathlib
import shutil
import sys

from outcome import Outcome, run

outcome = Outcome()
here = pathlib.Path.cwd()
suite = here.parent / "suite"
shutil.copytree(here, suite / "terraform" / "configuration")
shutil.copy(pathlib.Path(__file__).with_name("test_trial.py"), suite)
os.chdir(suite)

outcome.step("init, plan -state, apply, show, destroy of a suite")
binary = shutil.which("terraform")
shown = run(
    sys.executable,
    "-m",
    "pytest",
    "-v",
    "-p",
    "no:cacheprovider",
    f"--tf-binary={binary}",
    "--tf-mod-dir=terraform",
    "--tf-debug",
    "--basetemp",
    str(here.parent / "pytest"),
    "test_trial.py",
)
outcome.contains("the result of the suite", shown, "4 passed")
left = [file for file in (here.parent / "pytest").rglob("terraform.tfstate")]
outcome.equal("the number of state files", len(left), 1)
state = json.loads(left[0].read_text())
outcome.equal("the resources after the suite", state["resources"], [])
outcome.equal("the file exists", (suite / "terraform/configuration/greeting.txt").exists(), False)

outcome.step("replay of the recorded resources")
recorded = json.loads((suite / "terraform/configuration/tf_resources.json").read_text())
outcome.equal("a recorded value", recorded["outputs"]["part"]["value"], "inner one")
shown = run(
    sys.executable,
    "-m",
    "pytest",
    "-v",
    "-p",
    "no:cacheprovider",
    "--tf-replay",
    f"--tf-binary={binary}",
    "--tf-mod-dir=terraform",
    "-k",
    "outputs or resources",
    "test_trial.py",
)
outcome.contains("the result of the replay", shown, "2 passed, 2 deselected")
outcome.record("resources", sorted(recorded["resources"]))
outcome.write()
