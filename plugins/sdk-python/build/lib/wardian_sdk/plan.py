"""Plans a resource from the proposed new state.

The steps are: set defaults, and write-only values to null; if the result differs from the prior
state, set every computed attribute that is null in the configuration to unknown; restore stable
values, and find the attributes that require a replacement.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Mapping

from .diagnostics import Key, Path
from .schema import Attribute, Block, Schema
from .unknown import UNKNOWN, is_unknown
from .values import DynamicValue, same


def plan_change(schema: Schema, config: Any, prior: Any, proposed: Any) -> tuple[Any, list[Path]]:
    """Returns the planned state of a create (``prior`` is null) or an update, and the paths whose change
    requires a replacement."""
    sides = _Sides(config, prior)
    planned = _contents(schema, sides, proposed, _Position(()), _Defaults())
    if not same(planned, prior):
        planned = _contents(schema, sides, planned, _Position(()), _MarkUnknown())
    modify = _Modify(is_create=prior is None)
    planned = _contents(schema, sides, planned, _Position(()), modify)
    return planned, modify.requires_replace


@dataclass(frozen=True)
class _Sides:
    """The configuration and the prior state that correspond to a planned value."""

    config: Any
    prior: Any

    def inside(self, name: str | int) -> _Sides:
        return _Sides(_member(self.config, name), _member(self.prior, name))


@dataclass(frozen=True)
class _Position:
    """A path. It ends at the outermost set."""

    path: Path
    ended: bool = False

    def inside(self, step: str | int | Key) -> _Position:
        return self if self.ended else _Position((*self.path, step))

    def in_set(self) -> _Position:
        return _Position(self.path, ended=True)


class _Visit:
    def attribute(self, attribute: Attribute, sides: _Sides, planned: Any, path: Path) -> Any:
        raise NotImplementedError

    def block(self, block: Block, sides: _Sides, planned: Any, path: Path) -> None:
        pass


class _Defaults(_Visit):
    def attribute(self, attribute: Attribute, sides: _Sides, planned: Any, path: Path) -> Any:
        if attribute.write_only:
            return None
        return attribute.default if attribute.has_default and sides.config is None else planned


class _MarkUnknown(_Visit):
    def attribute(self, attribute: Attribute, sides: _Sides, planned: Any, path: Path) -> Any:
        is_decided = not attribute.computed or attribute.has_default or sides.config is not None
        return planned if is_decided else UNKNOWN


class _Modify(_Visit):
    def __init__(self, is_create: bool) -> None:
        self._is_create = is_create
        self.requires_replace: list[Path] = []

    def attribute(self, attribute: Attribute, sides: _Sides, planned: Any, path: Path) -> Any:
        if attribute.stable and is_unknown(planned) and sides.prior is not None and sides.config is None:
            planned = sides.prior
        self._compare(attribute.force_new, sides, planned, path)
        return planned

    def block(self, block: Block, sides: _Sides, planned: Any, path: Path) -> None:
        self._compare(block.force_new, sides, planned, path)

    def _compare(self, force_new: bool, sides: _Sides, planned: Any, path: Path) -> None:
        if force_new and not self._is_create and not same(sides.prior, planned):
            self.requires_replace.append(path)


def _contents(schema: Schema, sides: _Sides, planned: Any, position: _Position, visit: _Visit) -> Any:
    if planned is None or is_unknown(planned):
        return planned
    parts = _attributes(schema.attributes, sides, planned, position, visit)
    for name, block in schema.blocks.items():
        within, at = sides.inside(name), position.inside(name)
        visit.block(block, within, parts[name], at.path)

        def contents(one: _Sides, value: Any, where: _Position, block: Block = block) -> Any:
            return _contents(block.contents, one, value, where, visit)

        parts[name] = _each(block.nesting, within, parts[name], at, contents)
    return parts


def _attributes(
    attributes: Mapping[str, Attribute], sides: _Sides, planned: Any, position: _Position, visit: _Visit
) -> Any:
    if planned is None or is_unknown(planned):
        return planned
    parts = dict(planned)
    for name, attribute in attributes.items():
        within, at = sides.inside(name), position.inside(name)
        value = visit.attribute(attribute, within, parts[name], at.path)
        if attribute.nested is not None:
            inner = attribute.nested.attributes

            def nested(one: _Sides, element: Any, where: _Position, inner: Any = inner) -> Any:
                return _attributes(inner, one, element, where, visit)

            value = _each(attribute.nested.nesting, within, value, at, nested)
        parts[name] = value
    return parts


def _each(
    nesting: str,
    sides: _Sides,
    planned: Any,
    position: _Position,
    change: Callable[[_Sides, Any, _Position], Any],
) -> Any:
    if planned is None or is_unknown(planned):
        return planned
    if isinstance(planned, DynamicValue):
        return DynamicValue(planned.type, _each(nesting, sides, planned.value, position, change))
    if nesting in ("single", "group"):
        return change(sides, planned, position)
    if nesting == "map":
        return {key: change(sides.inside(key), one, position.inside(Key(key))) for key, one in planned.items()}
    if nesting == "list":
        return [change(sides.inside(at), one, position.inside(at)) for at, one in enumerate(planned)]
    configs, priors = _elements(sides.config), _elements(sides.prior)
    changed = []
    for element in planned:
        config = _take(configs, lambda one: _results(element, one))
        prior = None if config is None else _take(priors, lambda one: _results(one, config))
        changed.append(change(_Sides(config, prior), element, position.in_set()))
    return changed


def _member(value: Any, name: str | int) -> Any:
    if isinstance(value, DynamicValue):
        return _member(value.value, name)
    if isinstance(value, dict):
        return value.get(name)
    if isinstance(value, list) and isinstance(name, int) and name < len(value):
        return value[name]
    return None


def _elements(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else []


def _take(values: list[Any], matches: Callable[[Any], bool]) -> Any:
    for index, value in enumerate(values):
        if matches(value):
            return values.pop(index)
    return None


def _results(value: Any, config: Any) -> bool:
    """Returns whether an object can result from a configuration: all values that the configuration sets
    are equal."""
    if config is None:
        return True
    if isinstance(value, dict) and isinstance(config, dict):
        return all(name in value and _results(value[name], one) for name, one in config.items())
    return same(value, config)
