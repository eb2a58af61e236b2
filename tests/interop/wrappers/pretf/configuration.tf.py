"""A configuration of pretf: Python that yields blocks."""

from pretf.api import block


def pretf_blocks(var):
    yield block("variable", "revision", {"default": "one"})
    for name in ["left", "right"]:
        part = yield block("resource", "terraform_data", name, {"input": f"{name} {var.revision}"})
        yield block("output", name, {"value": part.output})
    pet = yield block("resource", "random_pet", "name", {"length": 3})
    yield block("output", "pet", {"value": pet.id})
