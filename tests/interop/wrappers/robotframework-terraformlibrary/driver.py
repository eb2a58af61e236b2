"""TerraformLibrary for Robot Framework: a suite with all its keywords."""

import os
import pathlib
import xml.etree.ElementTree

from outcome import Outcome, run

outcome = Outcome()
suite = str(pathlib.Path(__file__).with_name("trial.robot"))
outcome.step("init, plan, apply, show -json, destroy of a suite")
shown = run("robot", "--variable", f"PROJECT:{os.getcwd()}", "--outputdir", "robot", suite)
outcome.contains("the result of the suite", shown, "6 tests, 6 passed, 0 failed")
tests = xml.etree.ElementTree.parse("robot/output.xml").findall(".//test")
outcome.record("tests", {test.get("name"): test.find("status").get("status") for test in tests})
outcome.equal("the file exists", os.path.exists("greeting.txt"), False)
outcome.write()
