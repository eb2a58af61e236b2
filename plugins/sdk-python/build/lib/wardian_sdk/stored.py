"""Stored states: JSON with numbers of any precision."""

from __future__ import annotations

import json
from typing import Any

from .numbers import is_number, number_from_text, text_of_number
from .value_types import (
    BOOL,
    DYNAMIC,
    NUMBER,
    STRING,
    ListType,
    MapType,
    ObjectType,
    SetType,
    TupleType,
    ValueType,
    type_from_json,
    type_name,
)
from .values import DynamicValue, ValueMismatch


def parse_json(content: bytes) -> Any:
    """Parses JSON without loss of precision."""
    try:
        return json.loads(
            content, parse_int=number_from_text, parse_float=number_from_text, parse_constant=_reject
        )
    except RecursionError as error:
        raise ValueError("the stored state has too many levels") from error


def _reject(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def from_json(document: Any, value_type: ValueType, path: str = "") -> Any:
    """Converts parsed JSON to a value of a type, in the encoding of states."""
    match value_type, document:
        case (_, None):
            return None
        case (str(), _):
            return _primitive(document, value_type, path)
        case (ListType(element) | SetType(element), list()):
            return [from_json(one, element, f"{path}[{index}]") for index, one in enumerate(document)]
        case (TupleType(elements), list()) if len(document) == len(elements):
            return [
                from_json(one, element, f"{path}[{index}]")
                for index, (one, element) in enumerate(zip(document, elements))
            ]
        case (MapType(element), dict()):
            return {key: from_json(one, element, f"{path}[{key!r}]") for key, one in document.items()}
        case (ObjectType(attributes), dict()):
            for name in document:
                if name not in attributes:
                    raise ValueMismatch(path, f"the schema has no attribute {name!r}")
            return {
                name: from_json(document.get(name), one, f"{path}.{name}" if path else name)
                for name, one in attributes.items()
            }
        case _:
            raise ValueMismatch(path, f"the stored value is not a {type_name(value_type)}")


def _primitive(document: Any, value_type: ValueType, path: str) -> Any:
    match document:
        case str() if value_type == STRING:
            return document
        case str() if value_type == NUMBER:
            return number_from_text(document)
        case "true" | "1" if value_type == BOOL:
            return True
        case "false" | "0" if value_type == BOOL:
            return False
        case bool() if value_type == BOOL:
            return document
        case bool() if value_type == STRING:
            return "true" if document else "false"
        case {"type": notation, "value": inner} if value_type == DYNAMIC and len(document) == 2:
            inner_type = type_from_json(json.dumps(notation))
            return DynamicValue(inner_type, from_json(inner, inner_type, path))
        case _ if is_number(document) and value_type == NUMBER:
            return document
        case _ if is_number(document) and value_type == STRING:
            return text_of_number(document)
        case _:
            raise ValueMismatch(path, f"the stored value is not a {type_name(value_type)}")
