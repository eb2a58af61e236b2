"""The outcome of a driver: its steps, its checks, and the values that xtask compares between
Wardian and Terraform.

A driver prints nothing that xtask parses: it writes its outcome to the file that OUTCOME names. A
check that fails ends the driver.
"""

import json
import os
import signal
import subprocess
import threading

LIMIT = 300
"""The time limit of one process, in seconds."""


def end_with_xtask():
    """Ends this process and the processes that it started when xtask ends, and with it the standard
    input."""
    while os.read(0, 1):
        pass
    os.killpg(0, signal.SIGKILL)


threading.Thread(target=end_with_xtask, daemon=True).start()


class Outcome:
    def __init__(self):
        self.steps = []
        self.checks = 0
        self.values = {}

    def step(self, name):
        """Starts a step. The name appears in xtask's report."""
        print(f"== {name}", flush=True)
        self.steps.append(name)

    def equal(self, subject, actual, expected):
        self.checks += 1
        if actual != expected:
            self.fail(f"{subject} is {actual!r} instead of {expected!r}")

    def contains(self, subject, text, part):
        self.checks += 1
        if part not in text:
            self.fail(f"{subject} does not contain {part!r}:\n{text}")

    def true(self, subject, condition, detail=""):
        self.checks += 1
        if not condition:
            self.fail(f"not true: {subject}\n{detail}")

    def record(self, name, value):
        """Records a value that must be the same with Terraform."""
        self.values[name] = value

    def fail(self, reason):
        raise SystemExit(f"FAILED in step `{self.steps[-1] if self.steps else '-'}`: {reason}")

    def write(self):
        if not self.checks:
            self.fail("the driver checked nothing")
        with open(os.environ["OUTCOME"], "w", encoding="utf-8") as file:
            json.dump({"steps": self.steps, "checks": self.checks, "values": self.values}, file)


def run(*command, code=0, environment=None, stdin=None):
    """Runs a command that must end with this exit code, and returns its standard output."""
    done = subprocess.run(
        command,
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, **(environment or {})},
        check=False,
    )
    print(f"$ {' '.join(map(str, command))}\n{done.stdout}{done.stderr}", flush=True)
    if done.returncode != code:
        raise SystemExit(
            f"FAILED: `{' '.join(map(str, command))}` ended with {done.returncode}, not {code}"
        )
    return done.stdout


def terraform(*arguments, code=0):
    """Runs `terraform`, to prepare the input of a tool."""
    return run("terraform", *arguments, code=code)


CHANGES = ("-var=revision=two", '-var=parts=["left","up"]')
"""The variables of a plan that creates, updates, replaces and deletes objects."""


def changed_plan():
    """Applies the configuration, saves a plan of changes as `plan.saved` and `plan.json`, and
    returns its JSON form: 4 objects to add, 2 to change, 4 to destroy."""
    terraform("init", "-no-color", "-input=false")
    terraform("apply", "-no-color", "-input=false", "-auto-approve")
    terraform("plan", "-no-color", "-input=false", "-out=plan.saved", *CHANGES)
    text = terraform("show", "-json", "plan.saved")
    with open("plan.json", "w", encoding="utf-8") as file:
        file.write(text)
    return json.loads(text)
