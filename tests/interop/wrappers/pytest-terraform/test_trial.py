"""A suite of pytest-terraform. The plugin creates the module of each test, and destroys it."""

import os

from pytest_terraform import terraform


@terraform("configuration", scope="session")
def test_resources_of_the_state(configuration):
    assert configuration["null_resource.trigger.triggers"] == {"revision": "one"}
    assert configuration.resources["local_file"]["greeting"]["content"] == "hello one\n"
    assert sorted(configuration.resources) == [
        "local_file",
        "null_resource",
        "random_password",
        "random_pet",
        "terraform_data",
        "time_static",
    ]


@terraform("configuration", scope="session")
def test_outputs(configuration):
    assert configuration.outputs["greeting"]["value"] == "hello one\n"
    assert configuration.outputs["parts"]["value"] == ["left one", "right one"]
    assert configuration.outputs["secret"]["sensitive"] is True


@terraform("configuration", scope="session")
def test_show_of_the_state(configuration):
    shown = configuration.terraform.show()
    addresses = [resource["address"] for resource in shown["values"]["root_module"]["resources"]]
    assert 'terraform_data.part["left"]' in addresses
    assert os.path.exists(os.path.join(configuration.terraform.module_dir, "greeting.txt"))


@terraform("configuration", scope="session")
def test_error_of_a_command(configuration):
    import subprocess

    import pytest

    configuration.terraform.module_dir.join("broken.tf").write("resource {}\n")
    try:
        with pytest.raises(subprocess.CalledProcessError) as error:
            configuration.terraform.plan()
        assert error.value.returncode == 1
    finally:
        configuration.terraform.module_dir.join("broken.tf").remove()
