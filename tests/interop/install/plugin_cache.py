"""Shares the plugin cache with Wardian by OpenTofu's lock, for which Wardian waits."""

import json
import os
import shutil
import subprocess
import time
import urllib.request

from opentofu import CacheLock, require

PROVIDER, VERSION, LIMIT = "example.test/acme/p0", "1.0.0", 120
CONFIGURATION = f"""terraform {{
  required_providers {{
    p0 = {{
      source  = "{PROVIDER}"
      version = "{VERSION}"
    }}
  }}
}}
"""


def platform():
    machine = {"x86_64": "amd64", "aarch64": "arm64"}.get(os.uname().machine, os.uname().machine)
    return f"{os.uname().sysname.lower()}_{machine}"


class Project:
    """A directory with an empty plugin cache, in which `init` runs."""

    def __init__(self, name):
        self.directory = os.path.join(os.environ["PLACE"], name)
        self.cache = os.path.join(self.directory, "cache")
        shutil.rmtree(self.directory, ignore_errors=True)
        os.makedirs(self.cache)
        url = os.environ["PLAIN_REGISTRY"]
        with open(os.path.join(self.directory, "main.tf"), "w") as file:
            file.write(CONFIGURATION)
        with open(os.path.join(self.directory, "cli.tfrc"), "w") as file:
            file.write(f'host "example.test" {{\n  services = {{\n    "providers.v1" = "{url}/v1/providers/"\n  }}\n}}\n')
        self.package = os.path.join(self.cache, PROVIDER, VERSION, platform())

    def lock(self):
        return CacheLock(self.cache, PROVIDER, VERSION, platform())

    def start(self):
        environment = dict(
            os.environ,
            HOME=self.directory,
            TF_CLI_CONFIG_FILE=os.path.join(self.directory, "cli.tfrc"),
            TF_PLUGIN_CACHE_DIR=self.cache,
        )
        return subprocess.Popen(
            [os.environ["WARDIAN"], "init", "-input=false"],
            cwd=self.directory,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )


def wait_until(what, is_so):
    started = time.monotonic()
    while not is_so():
        require(time.monotonic() - started < LIMIT, f"it never happened that {what}")
        time.sleep(0.01)


def has_open(process, path):
    directory = f"/proc/{process.pid}/fd"
    try:
        links = (os.path.join(directory, name) for name in os.listdir(directory))
        return any(os.path.realpath(link) == os.path.realpath(path) for link in links)
    except FileNotFoundError:
        return False


def wardian_waits_for_the_lock():
    project = Project("waits")
    lock = project.lock()
    lock.acquire()
    process = project.start()
    try:
        wait_until("Wardian opens the lock file", lambda: has_open(process, lock.path) or process.poll() is not None)
        # A run that does not wait needs much less time.
        time.sleep(1)
        # The output of a running process has no end.
        if process.poll() is not None:
            require(False, f"Wardian did not wait for the lock:\n{process.stdout.read()}")
        require(not os.path.exists(project.package), "Wardian wrote the package in spite of the lock")
        lock.release()
        output, _ = process.communicate(timeout=LIMIT)
        require(process.returncode == 0, f"`init` failed:\n{output}")
        require(os.path.isdir(project.package), "the package is not in the cache")
    finally:
        process.kill()
        process.wait()


def ask_servers(path, body=None):
    url = os.environ["PLAIN_REGISTRY"] + path
    data = None if body is None else json.dumps(body).encode()
    return urllib.request.urlopen(urllib.request.Request(url, data=data), timeout=60).read()


def killed_wardian_leaves_no_lock_and_no_package():
    project = Project("killed")
    lock = project.lock()
    ask_servers("/-/forget-requests")
    ask_servers("/-/add-fault", {"path": "/releases/acme/p0/1.0.0/*.zip", "fault": {"stall-after": 100}})
    process = project.start()
    try:

        def is_downloading():
            requests = json.loads(ask_servers("/-/requests"))
            return any(request["path"].endswith(".zip") for request in requests)

        wait_until("Wardian downloads the package", is_downloading)
        process.kill()
        process.wait()
        require(lock.try_acquire(), "the lock outlives the process")
        lock.release()
        require(not os.path.exists(project.package), "an incomplete package is in the cache")
    finally:
        ask_servers("/-/remove-faults")
        process.kill()
        process.wait()
    process = project.start()
    output, _ = process.communicate(timeout=LIMIT)
    require(process.returncode == 0, f"`init` failed:\n{output}")
    require(os.path.isdir(project.package), "the package is not in the cache")


if os.path.isdir("/proc/self/fd"):
    wardian_waits_for_the_lock()
    killed_wardian_leaves_no_lock_and_no_package()
    print("the plugin cache is locked as OpenTofu locks it")
else:
    print("skipped: there is no /proc, which shows the open files of a process")
