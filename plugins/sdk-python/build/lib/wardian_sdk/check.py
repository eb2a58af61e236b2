"""Checks a configuration against a schema: properties of attributes, numbers of blocks, validators."""

from __future__ import annotations

import json
from typing import Any, Callable, Mapping

from .diagnostics import Diagnostic, Key, Path
from .numbers import is_number, text_of_number
from .schema import Attribute, Schema
from .unknown import is_unknown
from .values import DynamicValue


def check(schema: Schema, config: Any, write_only_allowed: bool) -> list[Diagnostic]:
    """Returns the diagnostics of a configuration, which may contain unknown values."""
    walk = _Check(write_only_allowed)
    if config is not None and not is_unknown(config):
        walk.contents(schema, config, ())
    return walk.diagnostics


class _Check:
    def __init__(self, write_only_allowed: bool) -> None:
        self.diagnostics: list[Diagnostic] = []
        self._write_only_allowed = write_only_allowed

    def contents(self, schema: Schema, config: Any, path: Path) -> None:
        self._attributes(schema.attributes, config, path)
        for name, block in schema.blocks.items():
            value = config.get(name)
            value = value.value if isinstance(value, DynamicValue) else value
            at = (*path, name)
            if is_unknown(value):
                continue
            count = len(value) if isinstance(value, list) else int(value is not None)
            if count < block.minimum:
                detail = f'At least {block.minimum} "{name}" block(s) are required.'
                self._error("Insufficient Blocks", detail, at)
            if 0 < block.maximum < count:
                self._error("Too Many Blocks", f'At most {block.maximum} "{name}" block(s) are allowed.', at)
            _each(block.nesting, value, at, lambda one, where: self.contents(block.contents, one, where))

    def _attributes(self, attributes: Mapping[str, Attribute], config: Any, path: Path) -> None:
        for name, attribute in attributes.items():
            self._attribute(name, attribute, config.get(name), (*path, name))

    def _attribute(self, name: str, attribute: Attribute, value: Any, path: Path) -> None:
        if attribute.required and value is None:
            detail = f'The attribute "{name}" must be set.'
            self._error("Missing Configuration for Required Attribute", detail, path)
        if value is None:
            return
        if not attribute.required and not attribute.optional:
            detail = f'Only the provider can set the attribute "{name}".'
            self._error("Invalid Configuration for Read-Only Attribute", detail, path)
        if attribute.write_only and not self._write_only_allowed:
            detail = f'The attribute "{name}" is write-only, which needs Terraform 1.11 or later.'
            self._error("WriteOnly Attribute Not Allowed", detail, path)
        if is_unknown(value):
            return
        for validator in attribute.validators:
            requirement = validator(value)
            if requirement:
                detail = f"Attribute {_name(path)} {requirement}, got: {_shown(value)}"
                self._error("Invalid Attribute Value", detail, path)
        if attribute.nested is not None:
            inner = attribute.nested.attributes
            _each(attribute.nested.nesting, value, path, lambda one, at: self._attributes(inner, one, at))

    def _error(self, summary: str, detail: str, path: Path) -> None:
        self.diagnostics.append(Diagnostic.error(summary, detail, path))


def _name(path: Path) -> str:
    steps = (f".{step}" if isinstance(step, str) else f"[{_shown(getattr(step, 'key', step))}]" for step in path)
    return "".join(steps).removeprefix(".")


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return text_of_number(value) if is_number(value) else str(value)


def _each(nesting: str, value: Any, path: Path, visit: Callable[[Any, Path], None]) -> None:
    elements: list[tuple[Any, Path]]
    if value is None:
        elements = []
    elif nesting in ("single", "group"):
        elements = [(value, path)]
    elif nesting == "map":
        elements = [(one, (*path, Key(key))) for key, one in value.items()]
    else:
        # The path of an element of a set is the path of the set.
        elements = [(one, path if nesting == "set" else (*path, index)) for index, one in enumerate(value)]
    for one, at in elements:
        if one is not None and not is_unknown(one):
            visit(one, at)
