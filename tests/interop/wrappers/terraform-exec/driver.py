"""terraform-exec: the command lines and the environment of the Go module with which other programs
run `terraform`. The command lines are executed as they are; no package is installed."""

import json
import os
import pathlib
import shutil
import subprocess

from outcome import LIMIT, Outcome

outcome = Outcome()
HERE = pathlib.Path.cwd()
# The module sets these variables for each command.
ENVIRONMENT = {
    "TF_IN_AUTOMATION": "1",
    "TF_APPEND_USER_AGENT": "HashiCorp-terraform-exec/0.25.0",
    "TF_LOG": "",
    "TF_LOG_PROVIDER": "",
    "CHECKPOINT_DISABLE": "1",
}
LOCK = ("-lock-timeout=0s", "-lock=true")
RUN = ("-no-color", "-auto-approve", "-input=false")
PLAN = (
    "plan",
    "-no-color",
    "-input=false",
    "-detailed-exitcode",
    *LOCK,
    "-parallelism=10",
    "-refresh=true",
)


def execute(*arguments, code=0, stdin=None):
    """Runs a command, and checks its exit code."""
    done = subprocess.run(
        ("terraform", *arguments),
        input=stdin,
        stdin=subprocess.DEVNULL if stdin is None else None,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env={**os.environ, **ENVIRONMENT},
        check=False,
    )
    line = " ".join(arguments)
    print(f"$ terraform {line}\n{done.stdout}{done.stderr}", flush=True)
    outcome.equal(f"the exit code of `{line}`", done.returncode, code)
    return done.stdout


def document(*arguments):
    return json.loads(execute(*arguments))


def messages(*arguments, code=0):
    """Runs a command that prints one JSON message per line, and returns their types."""
    lines = execute(*arguments, code=code).splitlines()
    return {json.loads(line)["type"] for line in lines}


outcome.step("version")
outcome.equal("the version", document("version", "-json")["terraform_version"], "1.11.4")

outcome.step("init")
execute("init", "-no-color", "-input=false", "-backend=true", "-get=true", "-upgrade=false")
types = messages(
    "init",
    "-no-color",
    "-input=false",
    "-backend=true",
    "-get=true",
    "-upgrade=true",
    "-reconfigure",
    "-json",
)
outcome.true("init prints its output", "init_output" in types, str(types))

outcome.step("get")
execute("get", "-no-color", "-update=false")
execute("get", "-no-color", "-update=true")

outcome.step("validate")
outcome.equal("the validity", document("validate", "-no-color", "-json")["valid"], True)

outcome.step("fmt")
outcome.equal("the formatted text", execute("fmt", "-no-color", "-", stdin="a=1\n"), "a = 1\n")
pathlib.Path("wide.tf").write_text("locals {\na=1\n}\n", encoding="utf-8")
shown = execute(
    "fmt",
    "-no-color",
    "-write=false",
    "-list=true",
    "-diff=false",
    "-check=true",
    "-recursive",
    str(HERE),
    code=3,
)
outcome.contains("the listed files", shown, "wide.tf")
execute("fmt", "-no-color", "-write=true", "-list=false", "-diff=false", str(HERE))
outcome.equal(
    "the formatted file",
    pathlib.Path("wide.tf").read_text(encoding="utf-8"),
    "locals {\n  a = 1\n}\n",
)

outcome.step("providers schema")
schemas = document("providers", "schema", "-json", "-no-color")["provider_schemas"]
outcome.true(
    "the schemas have the resources",
    "random_pet" in schemas["registry.terraform.io/hashicorp/random"]["resource_schemas"],
)
outcome.record("providers", sorted(schemas))

outcome.step("metadata functions")
functions = document("metadata", "functions", "-json")["function_signatures"]
# Wardian also has functions of later versions.
LATER_FUNCTIONS = {"base64gunzip", "cidrcontains", "convert", "urldecode"}
outcome.record("functions", sorted(name for name in functions if name.removeprefix("core::") not in LATER_FUNCTIONS))
outcome.true("the functions have signatures", functions["abs"]["parameters"][0]["type"] == "number")

outcome.step("graph")
outcome.contains("the graph", execute("graph"), "digraph")
outcome.contains("the graph", execute("graph", "-draw-cycles", "-type=plan"), "random_pet.name")

outcome.step("plan")
execute(*PLAN, "-out=plan.saved", "-var", "revision=two", code=2)
types = messages(*PLAN, "-json", code=2)
outcome.true(
    "the plan prints its changes",
    {"version", "planned_change", "change_summary"} <= types,
    str(types),
)
outcome.contains("the graph of the plan", execute("graph", "-plan=plan.saved"), "digraph")

outcome.step("show")
plan = document("show", "-json", "-no-color", "plan.saved")
outcome.equal("the number of changes", len(plan["resource_changes"]), 9)
outcome.contains(
    "the plan",
    execute("show", "-no-color", "plan.saved"),
    "Plan: 8 to add, 0 to change, 0 to destroy.",
)
outcome.record("plan", sorted(plan))

outcome.step("apply")
execute("apply", *RUN, "-lock=true", "-parallelism=10", "-refresh=true", "plan.saved")
types = messages(
    "apply", *RUN, *LOCK, "-parallelism=10", "-refresh=true", "-var", "revision=three", "-json"
)
outcome.true(
    "the apply prints its progress",
    {"apply_start", "apply_complete", "outputs"} <= types,
    str(types),
)
execute(
    "apply",
    *RUN,
    "-lock=true",
    "-parallelism=10",
    "-refresh=true",
    "-refresh-only",
    "-var",
    "revision=three",
)
targets = (
    "-replace=time_static.created",
    "-target=time_static.created",
    "-target=null_resource.trigger",
)
execute(
    "apply", *RUN, *LOCK, "-parallelism=99", "-refresh=false", *targets, "-var", "revision=three"
)

outcome.step("output")
outcome.equal(
    "an output", document("output", "-no-color", "-json")["greeting"]["value"], "hello three\n"
)
outcome.equal(
    "an output",
    document("output", "-no-color", "-json", "-state=terraform.tfstate")["part"]["value"],
    "inner three",
)

outcome.step("show of the state")
state = document("show", "-json", "-no-color")
outcome.equal("the number of objects", len(state["values"]["root_module"]["resources"]), 8)
outcome.equal("the state", document("show", "-json", "-no-color", "terraform.tfstate"), state)

outcome.step("refresh")
execute("refresh", "-no-color", "-input=false", *LOCK, "-var", "revision=three")
types = messages(
    "refresh",
    "-no-color",
    "-input=false",
    *LOCK,
    "-target=null_resource.trigger",
    "-var",
    "revision=three",
    "-json",
)
outcome.true("the refresh prints its progress", "refresh_start" in types, str(types))

outcome.step("taint, untaint")
execute("taint", "-no-color", *LOCK, "null_resource.trigger")
execute(*PLAN, "-var", "revision=three", code=2)
execute("untaint", "-no-color", *LOCK, "null_resource.trigger")
execute(*PLAN, "-var", "revision=three")
execute(
    "taint",
    "-no-color",
    "-lock-timeout=200s",
    "-lock=false",
    "-allow-missing",
    "null_resource.missing",
)

outcome.step("state")
execute("state", "mv", "-no-color", *LOCK, "null_resource.trigger", "null_resource.other")
execute(
    "state",
    "mv",
    "-no-color",
    "-backup=mv.backup",
    *LOCK,
    "null_resource.other",
    "null_resource.trigger",
)
password = execute("output", "-raw", "secret")
execute("state", "rm", "-no-color", *LOCK, "random_password.secret")
pulled = execute("state", "pull")
outcome.equal("the version of the state", json.loads(pulled)["version"], 4)
pathlib.Path("pushed.tfstate").write_text(pulled, encoding="utf-8")
execute("state", "push", "-force", "-lock=true", "-lock-timeout=10s", "pushed.tfstate")

outcome.step("import")
execute(
    "import",
    "-no-color",
    "-input=false",
    *LOCK,
    "-var",
    "revision=three",
    "random_password.secret",
    password,
)
outcome.equal("the imported value", execute("output", "-raw", "secret"), password)

outcome.step("plan -generate-config-out")
pathlib.Path("import.tf").write_text(
    'import {\n  to = random_uuid.imported\n  id = "aabbccdd-eeff-0011-2233-445566778899"\n}\n',
    encoding="utf-8",
)
execute(*PLAN[:4], "-generate-config-out=generated.tf", *PLAN[4:], "-var", "revision=three", code=2)
outcome.contains(
    "the generated file",
    pathlib.Path("generated.tf").read_text(encoding="utf-8"),
    'resource "random_uuid" "imported"',
)
for name in ["import.tf", "generated.tf"]:
    pathlib.Path(name).unlink()

outcome.step("workspace")
outcome.equal("the workspaces", execute("workspace", "list", "-no-color").split(), ["*", "default"])
execute("workspace", "new", "-no-color", "trial")
execute(
    "workspace",
    "new",
    "-no-color",
    "-lock-timeout=200s",
    "-lock=false",
    "-state=pushed.tfstate",
    "other",
)
outcome.equal("the workspace", execute("workspace", "show", "-no-color").strip(), "other")
execute("workspace", "select", "-no-color", "default")
execute("workspace", "delete", "-no-color", "trial")
execute("workspace", "delete", "-no-color", "-force", *LOCK, "other")

outcome.step("force-unlock")
execute("force-unlock", "-no-color", "-force", "12345", code=1)

outcome.step("destroy")
execute(*PLAN, "-destroy", "-out=destroy.saved", "-var", "revision=three", code=2)
types = messages(
    "destroy",
    *RUN,
    *LOCK,
    "-parallelism=10",
    "-refresh=true",
    "-target=time_static.created",
    "-json",
)
outcome.true("destroy prints its progress", "apply_complete" in types, str(types))
execute("destroy", *RUN, *LOCK, "-parallelism=10", "-refresh=true")
outcome.equal("the objects", json.loads(execute("state", "pull"))["resources"], [])

outcome.step("init with all options")
shutil.rmtree(".terraform")
execute(
    "init",
    "-no-color",
    "-input=false",
    "-backend=false",
    "-get=true",
    "-upgrade=true",
    "-force-copy",
    "-reconfigure",
)
outcome.write()
