"""Schemas: what a block contains."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, Callable, Literal, Mapping

from .value_types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    ValueType,
    is_dynamic,
)

_NAME = re.compile(r"[a-z_][a-z0-9_]*", re.ASCII)
_COLLECTIONS = {"list": ListType, "set": SetType, "map": MapType}
_UNSET: Any = object()

AttributeNesting = Literal["single", "list", "set", "map"]
BlockNesting = Literal["single", "group", "list", "set", "map"]
#: Receives a known value that is not null. Returns nothing, or the requirement: "must be even".
Validator = Callable[[Any], str | None]


@dataclass(frozen=True)
class Nested:
    """The attributes of the objects of a nested attribute."""

    nesting: AttributeNesting
    attributes: Mapping[str, Attribute]


@dataclass(frozen=True, kw_only=True)
class Attribute:
    """An attribute. The functions ``string``, ``number`` and so on create attributes.

    A ``default`` makes the attribute optional and computed. A change of a ``force_new`` attribute
    replaces the object. An update does not change a ``stable`` computed attribute. The value of a
    ``write_only`` attribute is only in ``context.config``. ``deprecated`` names the alternative.
    """

    type: ValueType
    nested: Nested | None = None
    required: bool = False
    optional: bool = False
    computed: bool = False
    sensitive: bool = False
    write_only: bool = False
    force_new: bool = False
    stable: bool = False
    default: Any = _UNSET
    description: str = ""
    deprecated: str | None = None
    validators: tuple[Validator, ...] = ()

    def __post_init__(self) -> None:
        if self.has_default:
            object.__setattr__(self, "optional", True)
            object.__setattr__(self, "computed", True)

    @property
    def has_default(self) -> bool:
        return self.default is not _UNSET

    def check(self, path: str) -> None:
        """Raises a TypeError that names a contradiction."""
        if not (self.required or self.optional or self.computed):
            raise TypeError(f"{path} must be required, optional or computed")
        if self.required and (self.optional or self.computed):
            raise TypeError(f"{path} is required, so it is neither optional nor computed and has no default")
        if self.write_only and self.computed:
            raise TypeError(f"{path} is write-only, so it cannot be computed")


def string(**properties: Any) -> Attribute:
    """Creates an attribute; the arguments are those of ``Attribute``."""
    return Attribute(type=STRING, **properties)


def number(**properties: Any) -> Attribute:
    return Attribute(type=NUMBER, **properties)


def boolean(**properties: Any) -> Attribute:
    return Attribute(type=BOOL, **properties)


def dynamic(**properties: Any) -> Attribute:
    return Attribute(type=DYNAMIC, **properties)


def list_of(element: ValueType, **properties: Any) -> Attribute:
    return Attribute(type=ListType(element), **properties)


def set_of(element: ValueType, **properties: Any) -> Attribute:
    return Attribute(type=SetType(element), **properties)


def map_of(element: ValueType, **properties: Any) -> Attribute:
    return Attribute(type=MapType(element), **properties)


def nested(nesting: AttributeNesting, attributes: Mapping[str, Attribute], **properties: Any) -> Attribute:
    """Creates an attribute with objects whose attributes have properties of their own."""
    contents = ObjectType(_types(attributes))
    value_type = contents if nesting == "single" else _COLLECTIONS[nesting](contents)
    return Attribute(type=value_type, nested=Nested(nesting, attributes), **properties)


@dataclass(frozen=True, kw_only=True)
class Schema:
    """The contents of a block: of a resource, a data source, a provider or a nested block."""

    version: int = 0
    description: str = ""
    deprecated: str | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    blocks: Mapping[str, Block] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in (*self.attributes, *self.blocks):
            if not _NAME.fullmatch(name):
                raise TypeError(f"{name!r} is not the name of an attribute or block")
            if name in self.attributes and name in self.blocks:
                raise TypeError(f"{name} is both an attribute and a block")
        _check(self.attributes, "")

    @property
    def type(self) -> ObjectType:
        """The type of the objects that the schema describes."""
        blocks = {name: block.type for name, block in self.blocks.items()}
        return ObjectType({**_types(self.attributes), **blocks})


@dataclass(frozen=True)
class Block:
    """A nested block. ``maximum`` is 0 if there is no limit."""

    nesting: BlockNesting
    contents: Schema
    minimum: int = 0
    maximum: int = 0
    force_new: bool = False

    @property
    def type(self) -> ValueType:
        contents = self.contents.type
        if self.nesting in ("single", "group"):
            return contents
        # The elements of a list or map whose types contain dynamic parts have different types.
        if self.nesting != "set" and is_dynamic(contents):
            return DYNAMIC
        return _COLLECTIONS[self.nesting](contents)


def _check(attributes: Mapping[str, Attribute], path: str) -> None:
    for name, attribute in attributes.items():
        attribute.check(path + name)
        if attribute.nested is not None:
            _check(attribute.nested.attributes, f"{path}{name}.")


def _types(attributes: Mapping[str, Attribute]) -> dict[str, ValueType]:
    return {name: attribute.type for name, attribute in attributes.items()}
