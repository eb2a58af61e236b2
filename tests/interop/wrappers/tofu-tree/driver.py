"""tofu-tree: a tree of the plan that it requests by `tofu plan -concise`, and of a plan's text."""

from outcome import CHANGES, Outcome, changed_plan, run, terraform

outcome = Outcome()
outcome.step("apply, plan")
changed_plan()

outcome.step("tree of the plan's text")
text = terraform("plan", "-no-color", "-input=false", *CHANGES)
tree = run("tofu-tree", "--no-color", "--input", stdin=text)
lines = [line.strip() for line in tree.splitlines()]
for line in ["1 to be created", "1 to be destroyed", "3 to be replaced", "2 to be updated"]:
    outcome.true(line, any(shown.endswith(line) for shown in lines), tree)
outcome.contains("the tree", tree, "─ - right")

outcome.step("tree of `tofu plan -concise`")
variables = {"TF_VAR_revision": "two", "TF_VAR_parts": '["left","up"]'}
outcome.equal("the tree", run("tofu-tree", "--no-color", environment=variables), tree)
outcome.write()
