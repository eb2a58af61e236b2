#!/usr/bin/env python3
"""Records the answers of `terraform test` for the cases in `data/GROUP/NAME.txt`.

    record.py --binary WARDIAN [--mirror DIRECTORY] [--missing | --check] [--extract DIRECTORY] [PATTERN...]

`terraform` must be on PATH. `WARDIAN` serves the plugins that are embedded in it as native plugins, so
that Terraform can use them. `--mirror` is a filesystem mirror with the provider aws; without it, the
group `aws` is not recorded. `--missing` records only cases without an answer. `--check` records
nothing, prints the names of answers that have changed, and writes these to the directory for temporary
files. `--extract` writes the files of the chosen cases to a directory, without running a command. A
PATTERN selects the cases whose names contain it. `wardian-mock-provider` must be beside `WARDIAN`.

A case has the format of the suite `scenarios`: sections that write files, remove them, or run
commands. A command has these options, one on each line:

    env NAME=VALUE   sets an environment variable
    input TEXT       is a line of input
    no init          does not run `init` before this command
    one format       `test` runs only once, with the given arguments

`init` runs before the first command after a change of files (except if the command is `init`). Its
result is recorded only if it fails, as `init exit 1`.

`test` runs twice, in two copies of the directory: with the given arguments, `-no-color` and
`-junit-xml=[FILE]`; and with `-json`. An answer has these sections for each command:

    -- $ test -verbose --
    exit 1
    -- stdout --
    -- stderr --
    -- junit --
    -- json exit 1 --

A section is missing if its text is empty. Placeholders replace values that differ in every run: [UUID],
[TIME], [SECONDS], [DIRECTORY], [VERSION], [GENERATED] (a string of a mock). JSON events are one object
per line with sorted keys, without `@timestamp` and `elapsed`, and with a list of addresses instead of
`provider_schemas`. Events about a run whose progress is `running` or `teardown` are missing, since
Terraform prints them every two seconds, depending on its speed.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
EMBEDDED = ["random", "null", "local", "time", "tfcoremock"]
TITLE = re.compile(r"^-- (.*) --$")
UUID = re.compile(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b")
TIME = re.compile(r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


def sections(text):
    found = []
    for line in text.splitlines(keepends=True):
        title = TITLE.match(line.rstrip())
        if title:
            found.append((title[1], []))
        elif found:
            found[-1][1].append(line)
    return [(title, "".join(lines)) for title, lines in found]


def platform():
    names = {"x86_64": "amd64", "aarch64": "arm64"}
    machine = os.uname()
    return f"{machine.sysname.lower()}_{names.get(machine.machine, machine.machine)}"


def write_script(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    path.chmod(0o755)


class Recorder:
    def __init__(self, options, place):
        self.options = options
        self.place = place
        self.terraform = shutil.which("terraform")
        self.binary = options.binary
        mirror = place / "mirror"
        for name, version in self.embedded_versions().items():
            package = mirror / f"registry.terraform.io/hashicorp/{name}/{version}/{platform()}"
            script = f"#!/bin/sh\nexec '{self.binary}' serve -protocol=6 hashicorp/{name}\n"
            write_script(package / f"terraform-provider-{name}_v{version}", script)
        self.mirrors = [mirror] + ([options.mirror] if options.mirror else [])

    def embedded_versions(self):
        probe = self.place / "probe"
        probe.mkdir()
        required = "".join(f'    {name} = {{ source = "hashicorp/{name}" }}\n' for name in EMBEDDED)
        (probe / "main.tf").write_text(f"terraform {{\n  required_providers {{\n{required}  }}\n}}\n")
        command = [self.binary, "init", "-input=false", "-no-color"]
        subprocess.run(command, cwd=probe, env=self.environment(self.place), check=True, capture_output=True)
        lock = (probe / ".terraform.lock.hcl").read_text()
        pattern = r'provider "[^"]*/hashicorp/(\w+)" \{\s*version\s*=\s*"([^"]*)"'
        return dict(re.findall(pattern, lock))

    def environment(self, home):
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("TF_", "AWS_"))}
        return kept | {
            "HOME": str(home),
            "CHECKPOINT_DISABLE": "1",
            "NO_COLOR": "1",
            "WARDIAN_CACHE_DIR": str(self.place / "cache"),
            "XDG_DATA_HOME": str(self.place / "data"),
        }

    def record(self, case):
        """Returns the answer of a case."""
        folder = pathlib.Path(tempfile.mkdtemp(dir=self.place))
        home = folder / "home"
        directory = folder / "project"
        directory.mkdir()
        home.mkdir()
        self.write_settings(home)
        answer, is_changed = [], True
        for title, content in sections(case.read_text()):
            if title.startswith("$ "):
                lines = [line for line in content.splitlines() if line]
                if is_changed and "no init" not in lines and not title.startswith("$ init"):
                    init = self.run(directory, home, ["init", "-input=false"], [])
                    if init.returncode:
                        answer.append(f"init exit {init.returncode}\n")
                is_changed = False
                answer.append(self.command(directory, home, title, lines))
            elif not self.change(directory, home, title, content):
                sys.exit(f"{case}: what is {title!r}?")
            else:
                is_changed = True
        shutil.rmtree(folder)
        return "".join(answer)

    def write_settings(self, home):
        mirrors = self.mirrors + [home / "plugins"]
        (home / "plugins").mkdir()
        blocks = "".join(f'  filesystem_mirror {{\n    path = "{path}"\n  }}\n' for path in mirrors)
        (home / "settings.tfrc").write_text(f"provider_installation {{\n{blocks}}}\n")

    def change(self, directory, home, title, content):
        match title.split(" "):
            case ["remove", path]:
                (directory / path).unlink()
            case ["copy", source, target]:
                shutil.copy(directory / source, directory / target)
            case ["provider", source, version]:
                name = source.split("/")[-1]
                schemas = home / f"{name}-{version}.json"
                schemas.write_text(content)
                package = home / f"plugins/registry.terraform.io/{source}/{version}/{platform()}"
                program = pathlib.Path(self.binary).with_name("wardian-mock-provider")
                script = f"#!/bin/sh\nexec '{program}' serve '{schemas}'\n"
                write_script(package / f"terraform-provider-{name}_v{version}", script)
            case [path]:
                target = directory / path
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_text(content)
            case _:
                return False
        return True

    def run(self, directory, home, arguments, lines):
        environment = self.environment(home) | {"TF_CLI_CONFIG_FILE": str(home / "settings.tfrc")}
        for line in lines:
            if line.startswith("env "):
                name, _, value = line[4:].partition("=")
                environment[name] = value
        entered = "".join(line[6:] + "\n" for line in lines if line.startswith("input "))
        return subprocess.run(
            [self.terraform, *arguments], cwd=directory, env=environment, input=entered,
            capture_output=True, text=True, timeout=300,
        )

    def command(self, directory, home, title, lines):
        for line in lines:
            if not re.match(r"(env|input) |no init$|one format$", line):
                sys.exit(f"{title}: what is {line!r}?")
        arguments = title[2:].split(" ")
        if arguments[0] != "test":
            output = self.run(directory, home, arguments + (["-no-color"] if "-json" not in arguments else []), lines)
            return self.text(title, output, directory)
        if "one format" in lines:
            output = self.run(directory, home, ["test", "-no-color", *arguments[1:]], lines)
            if "-json" in arguments:
                output.stdout = self.events(output.stdout, directory)
            return self.text(title, output, directory)
        copies = [directory.with_name(name) / "project" for name in ("human", "json")]
        for copy in copies:
            shutil.copytree(directory, copy, symlinks=True)
        report = directory.parent / "junit.xml"
        report.unlink(missing_ok=True)
        human = self.run(copies[0], home, ["test", f"-junit-xml={report}", "-no-color", *arguments[1:]], lines)
        text = self.text(title, human, copies[0])
        if report.exists():
            text += section("junit", self.neutral(report.read_text(), copies[0]))
        events = self.run(copies[1], home, ["test", "-json", *arguments[1:]], lines)
        text += section(f"json exit {events.returncode}", self.events(events.stdout, copies[1]))
        text += section("json stderr", self.neutral(events.stderr, copies[1]))
        for copy in copies:
            shutil.rmtree(copy.parent)
        return text

    def text(self, title, output, directory):
        text = f"-- {title} --\nexit {output.returncode}\n"
        text += section("stdout", self.neutral(output.stdout, directory))
        return text + section("stderr", self.neutral(output.stderr, directory))

    def neutral(self, text, directory):
        text = text.replace(str(directory), "[DIRECTORY]")
        text = UUID.sub("[UUID]", text)
        text = TIME.sub("[TIME]", text)
        text = re.sub(r'(cty\.StringVal\(\\?")[a-z0-9]{8}(\\?"\))', r"\1[GENERATED]\2", text)
        text = re.sub(r' time="[^"]*"', ' time="[SECONDS]"', text)
        text = re.sub(r"( after|still [a-z]+\.*,? ?\(?|: ?Still [a-z ]+\.\.\.|elapsed:?) \[?\d+s( elapsed)?\]?", r"\1 [SECONDS]", text)
        return re.sub(r'("(?:terraform|terraform_version)":\s?)"1\.\d+\.\d+"', r'\1"[VERSION]"', text)

    def events(self, text, directory):
        lines = []
        for line in text.splitlines():
            try:
                event = json.loads(line)
            except ValueError:
                lines.append(f"not JSON: {line}")
                continue
            if event.get("test_run", {}).get("progress") in ("running", "teardown"):
                continue
            event.pop("@timestamp", None)
            simplify(event)
            if event.get("type") == "version":
                event["@message"] = "[VERSION]"
            lines.append(json.dumps(event, sort_keys=True, ensure_ascii=False, separators=(",", ":")))
        return self.neutral("".join(line + "\n" for line in lines), directory)


def simplify(value):
    """Removes durations, and keeps only the addresses of the providers whose schemas are in a plan."""
    if isinstance(value, dict):
        value.pop("elapsed", None)
        value.pop("elapsed_seconds", None)
        if "provider_schemas" in value:
            value["provider_schemas"] = sorted(value["provider_schemas"])
        for one in value.values():
            simplify(one)


def section(name, text):
    if not text:
        return ""
    if not text.endswith("\n"):
        text += "\n"
    if any(TITLE.match(line) for line in text.splitlines()):
        sys.exit(f"the text contains a section title:\n{text}")
    return f"-- {name} --\n{text}"


def extract(cases, target):
    for case in cases:
        directory = target / case.parent.name / case.stem
        for title, content in sections(case.read_text()):
            if title.startswith("$ "):
                break
            if " " not in title:
                path = directory / title
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(content)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--binary")
    parser.add_argument("--mirror")
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--missing", action="store_true", help="record only cases without an answer")
    parser.add_argument("--extract", type=pathlib.Path)
    parser.add_argument("patterns", nargs="*")
    options = parser.parse_args()
    chosen = [
        case for case in sorted(HERE.glob("data/*/*.txt"))
        if not options.patterns or any(one in f"{case.parent.name}/{case.stem}" for one in options.patterns)
    ]
    if options.extract:
        return extract(chosen, options.extract)
    if not options.mirror:
        chosen = [case for case in chosen if case.parent.name != "aws"]
    if options.missing:
        chosen = [case for case in chosen if not case.with_suffix(".answer").exists()]
    with tempfile.TemporaryDirectory() as place:
        recorder = Recorder(options, pathlib.Path(place))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for case, answer in zip(chosen, pool.map(recorder.record, chosen)):
                path = case.with_suffix(".answer")
                earlier = path.read_text() if path.exists() else None
                if answer != earlier:
                    print(f"{case.parent.name}/{case.stem} {'differs' if earlier else 'is new'}")
                if not options.check:
                    path.write_text(answer)
                elif answer != earlier:
                    other = pathlib.Path(tempfile.gettempdir()) / f"{case.parent.name}-{case.stem}.answer"
                    other.write_text(answer)


if __name__ == "__main__":
    main()
