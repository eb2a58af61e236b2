"""Pushes a release with Wardian, and pulls it by OpenTofu's rules and as a WebAssembly artifact."""

import json
import os
import shutil
import subprocess
import zipfile
import io

from opentofu import INDEX, MANIFEST, Registry, digest, executable, require

REPOSITORY = "interop/acme/null"
WASM_CONFIG = "application/vnd.wasm.config.v0+json"


def publish(place, target, environment):
    command = [
        os.environ["WARDIAN"], "plugin", "publish", "-address=example.test/acme/null", "-version=1.2.0",
        "-component=" + os.environ["COMPONENT"], "-native=linux_amd64=native", "-native=linux_arm64=native",
        target,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, timeout=300)
    require(done.returncode == 0, f"`plugin publish` failed:\n{done.stdout}{done.stderr}")


def main():
    place = os.environ["PLACE"]
    shutil.rmtree(place, ignore_errors=True)
    os.makedirs(place)
    with open(os.path.join(place, "native"), "w") as file:
        file.write("#!/bin/sh\nexit 1\n")
    environment = dict(os.environ, HOME=place, SSL_CERT_FILE=os.environ["AUTHORITY"])
    host = os.environ["REGISTRY"].removeprefix("https://")
    registry = Registry(os.environ["REGISTRY"], os.environ["AUTHORITY"])

    publish(place, f"oci://{host}/{REPOSITORY}", environment)
    index, first = registry.document(REPOSITORY, "1.2.0", INDEX)
    publish(place, f"oci://{host}/{REPOSITORY}", environment)
    _, second = registry.document(REPOSITORY, "1.2.0", INDEX)
    require(first == second, "the second push made another index")

    require(registry.versions(REPOSITORY) == ["1.2.0"], f"the versions are {registry.versions(REPOSITORY)}")
    for architecture in ["amd64", "arm64"]:
        package = registry.provider_package(REPOSITORY, "1.2.0", "linux", architecture)
        name = executable(package, "null")
        content = zipfile.ZipFile(io.BytesIO(package)).read(name)
        require(content == b"#!/bin/sh\nexit 1\n", f"{name} has another content")

    with open(os.environ["COMPONENT"], "rb") as file:
        component = file.read()
    entries = [entry for entry in index["manifests"] if entry.get("artifactType") == WASM_CONFIG]
    require(len(entries) == 1, f"{len(entries)} entries are components")
    require(
        entries[0]["platform"] == {"architecture": "wasm", "os": "wasip2"},
        f"the component's platform is {entries[0]['platform']}",
    )
    for reference in [entries[0]["digest"], "wasm-1.2.0"]:
        manifest, body = registry.document(REPOSITORY, reference, MANIFEST)
        require(digest(body) == entries[0]["digest"], "the tag of the component is another artifact")
        require(manifest["config"]["mediaType"] == WASM_CONFIG, "the artifact has another configuration")
        require(len(manifest["layers"]) == 1, "the artifact has several layers")
        layer = registry.only_layer(manifest, "application/wasm")
        require(registry.blob(REPOSITORY, layer) == component, "the layer is not the component")
        configuration = json.loads(registry.blob(REPOSITORY, manifest["config"]))
        for member in ["created", "architecture", "os", "layerDigests", "component"]:
            require(member in configuration, f"the configuration has no {member}")
        require(configuration["layerDigests"] == [layer["digest"]], "the configuration has another digest")
        require({"imports", "exports"} <= configuration["component"].keys(), "no imports or exports are stated")
    print("the release is readable by OpenTofu's rules and as a WebAssembly artifact")


main()
