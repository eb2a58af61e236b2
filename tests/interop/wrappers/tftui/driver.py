"""tftui: its terminal interface, driven by keys without a terminal."""

import asyncio
import pathlib

from outcome import Outcome, terraform
from tftui.app import TerraformTUI
from tftui.config import Settings
from tftui.screens.confirm import ConfirmScreen
from tftui.screens.plan_inputs import PlanInputsScreen
from tftui.terraform.client import TerraformClient
from tftui.terraform.executor import TerraformExecutor

outcome = Outcome()
HERE = pathlib.Path.cwd()


async def until(pilot, subject, condition):
    """Waits for a condition, and fails after two minutes."""
    for _ in range(1200):
        await pilot.pause(0.1)
        if condition():
            outcome.true(subject, True)
            return
    outcome.fail(f"{subject}: this is not so after two minutes")


async def answer(app, pilot, key, screen, reply):
    """Presses a key that opens a screen, and replies to the question of the screen."""
    await pilot.press(key)
    await until(pilot, f"`{key}` opens a screen", lambda: isinstance(app.screen, screen))
    await pilot.press(reply)


async def main():
    settings = Settings(offline=True, usage_tracking=False)
    app = TerraformTUI(TerraformClient(TerraformExecutor("terraform", cwd=HERE)), settings)
    async with app.run_test(size=(120, 50)) as pilot:
        outcome.step("init, show")
        await until(pilot, "the tree shows the state", lambda: len(app.state_tree.state) == 9)
        resources = sorted(app.state_tree.state.resources)
        outcome.record("resources", resources)
        outcome.equal(
            "the label of the root", app.state_tree.root.label.plain, "State (8 resources, 1 data)"
        )
        outcome.equal("the client's version", await app.client.version(), "1.11.4")
        secrets = app.state_tree.loaded.secrets_for("random_password.secret")
        outcome.equal("the length of a sensitive value", len(secrets["result"].strip('"')), 12)

        outcome.step("taint, untaint")
        app.state_tree.selected.add("null_resource.trigger")
        await answer(app, pilot, "t", ConfirmScreen, "y")
        await until(
            pilot,
            "the resource is tainted",
            lambda: app.state_tree.state.resources["null_resource.trigger"].tainted,
        )
        app.state_tree.selected.add("null_resource.trigger")
        await answer(app, pilot, "u", ConfirmScreen, "y")
        await until(
            pilot,
            "the resource is not tainted",
            lambda: not app.state_tree.state.resources["null_resource.trigger"].tainted,
        )

        outcome.step("state rm")
        app.state_tree.selected.add("time_static.created")
        await answer(app, pilot, "d", ConfirmScreen, "y")
        await until(
            pilot,
            "the resource is removed",
            lambda: "time_static.created" not in app.state_tree.state.resources,
        )

        outcome.step("plan")
        (HERE / "two.tfvars").write_text('revision = "two"\n', encoding="utf-8")
        app.settings = Settings(offline=True, usage_tracking=False, var_files=("two.tfvars",))
        await answer(app, pilot, "p", PlanInputsScreen, "enter")
        await until(pilot, "a plan is saved", lambda: app.client.plan_file is not None)
        styler = app.plan_view.styler
        outcome.equal("the summary", styler.summary, "Plan: 4 to add, 3 to change, 3 to destroy.")
        first = app.plan_view.fulltext.plain.splitlines()[0]
        outcome.equal(
            "the first line of the plan", first, "Terraform will perform the following actions:"
        )
        outcome.record(
            "headers", sorted([address, change.value] for address, change in styler.headers)
        )

        outcome.step("apply")
        await answer(app, pilot, "a", ConfirmScreen, "y")
        complete = "Apply complete! Resources: 4 added, 3 changed, 3 destroyed."
        await until(
            pilot, "the apply is complete", lambda: complete in app.plan_view.fulltext.plain
        )
        await until(
            pilot,
            "the tree shows the new state",
            lambda: "time_static.created" in app.state_tree.state.resources,
        )

        outcome.step("workspace list")
        workspaces = await app.client.workspaces()
        outcome.equal(
            "the workspaces", (workspaces.names, workspaces.current), (("default",), "default")
        )

        outcome.step("destroy plan")
        await pilot.press("escape")
        await answer(app, pilot, "ctrl+d", PlanInputsScreen, "enter")
        await until(
            pilot,
            "a plan is complete",
            lambda: app.plan_view.styler.summary == "Plan: 0 to add, 0 to change, 8 to destroy.",
        )
    outcome.equal("the error of the interface", app.error_message, "")
    app.client.cleanup()


terraform("init", "-no-color", "-input=false")
terraform("apply", "-no-color", "-input=false", "-auto-approve")
asyncio.run(main())
outcome.write()
