"""Type constraints: ``STRING``, ``NUMBER``, ``BOOL``, ``DYNAMIC``, and collections of them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Mapping, Union

_MAX_DEPTH = 64

STRING = "string"
NUMBER = "number"
BOOL = "bool"
#: Any type: each value carries its own.
DYNAMIC = "dynamic"
_PRIMITIVES = (STRING, NUMBER, BOOL, DYNAMIC)


@dataclass(frozen=True)
class ListType:
    element: ValueType


@dataclass(frozen=True)
class SetType:
    element: ValueType


@dataclass(frozen=True)
class MapType:
    element: ValueType


@dataclass(frozen=True)
class ObjectType:
    attributes: Mapping[str, ValueType]


@dataclass(frozen=True)
class TupleType:
    elements: tuple[ValueType, ...]


ValueType = Union[str, ListType, SetType, MapType, ObjectType, TupleType]
_COLLECTIONS = {"list": ListType, "set": SetType, "map": MapType}
_KINDS = {ListType: "list", SetType: "set", MapType: "map"}


def type_to_json(value_type: ValueType) -> str:
    """Returns a type in the protocol's JSON notation."""
    return json.dumps(_notation(value_type), separators=(",", ":"), ensure_ascii=False)


def _notation(value_type: ValueType) -> Any:
    match value_type:
        case str():
            return value_type
        case ObjectType(attributes):
            return ["object", {name: _notation(attributes[name]) for name in sorted(attributes)}]
        case TupleType(elements):
            return ["tuple", [_notation(element) for element in elements]]
        case _:
            return [_KINDS[type(value_type)], _notation(value_type.element)]


def type_from_json(text: str | bytes) -> ValueType:
    """Parses a type in the protocol's JSON notation."""
    try:
        document = json.loads(text)
    except RecursionError as error:
        raise ValueError("the type has too many levels") from error
    return _parse(document, 0)


def _parse(document: Any, depth: int) -> ValueType:
    if depth > _MAX_DEPTH:
        raise ValueError(f"a type has more than {_MAX_DEPTH} levels")
    match document:
        case str() if document in _PRIMITIVES:
            return document
        case [("list" | "set" | "map") as kind, inner]:
            return _COLLECTIONS[kind](_parse(inner, depth + 1))
        case ["tuple", [*elements]]:
            return TupleType(tuple(_parse(element, depth + 1) for element in elements))
        case ["object", {**attributes}, *_]:
            return ObjectType({name: _parse(inner, depth + 1) for name, inner in attributes.items()})
        case _:
            raise ValueError(f"{json.dumps(document)} is not a type")


def type_name(value_type: ValueType) -> str:
    """Returns a type for messages."""
    match value_type:
        case str():
            return value_type
        case ObjectType():
            return "object"
        case TupleType():
            return "tuple"
        case _:
            return f"{_KINDS[type(value_type)]} of {type_name(value_type.element)}"


def is_dynamic(value_type: ValueType) -> bool:
    """Returns whether a part of the type is dynamic."""
    match value_type:
        case str():
            return value_type == DYNAMIC
        case ObjectType(attributes):
            return any(map(is_dynamic, attributes.values()))
        case TupleType(elements):
            return any(map(is_dynamic, elements))
        case _:
            return is_dynamic(value_type.element)
