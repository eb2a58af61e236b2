"""Values in the MessagePack encoding of the plugin protocol, which a type directs.

============================  ==================================================================
type                          Python
============================  ==================================================================
string, bool                  ``str``, ``bool``
number                        ``int``, ``float`` if that is exact, otherwise ``decimal.Decimal``
list, set, tuple              ``list``
map, object                   ``dict``
dynamic                       ``DynamicValue``
null                          ``None``
unknown                       ``Unknown``
============================  ==================================================================
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .msgpack import ArrayHeader, Extension, MapHeader, MessageReader, MessageWriter
from .numbers import is_exact_float, is_number, number_from_text, same_number, text_of_number
from .unknown import UNKNOWN, Unknown
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
    type_to_json,
)

_MAX_DEPTH = 128
_MAX_REFINEMENT_BYTES = 1024
_REFINEMENT = 12


@dataclass(frozen=True)
class DynamicValue:
    """A value together with its type, for attributes of type dynamic."""

    type: ValueType
    value: Any


class ValueMismatch(ValueError):
    """A value that does not fit its type."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)


def decode(content: bytes, value_type: ValueType) -> Any:
    """Decodes a value. No bytes are null."""
    if not content:
        return None
    reader = MessageReader(content)
    value = _read(reader, value_type, "", 0)
    if not reader.ended:
        raise ValueMismatch("", "there are bytes after the value")
    return value


def encode(value: Any, value_type: ValueType) -> bytes:
    """Encodes a value."""
    writer = MessageWriter()
    _write(writer, value, value_type, "", 0)
    return writer.finish()


def _read(reader: MessageReader, value_type: ValueType, path: str, depth: int) -> Any:
    if depth > _MAX_DEPTH:
        raise ValueMismatch(path, f"the value has more than {_MAX_DEPTH} levels")
    item = reader.next()
    if isinstance(item, Extension):
        return _read_unknown(item, path)
    if item is None:
        return None
    match value_type, item:
        case (str(), _) if value_type == DYNAMIC:
            return _read_dynamic(reader, item, path, depth)
        case (str(), _):
            return _read_primitive(item, value_type, path)
        case (ListType(element) | SetType(element), ArrayHeader(length)):
            return [_read(reader, element, f"{path}[{index}]", depth + 1) for index in range(length)]
        case (TupleType(elements), ArrayHeader(length)):
            if length != len(elements):
                raise ValueMismatch(path, f"a tuple of {len(elements)} elements has {length}")
            return [_read(reader, one, f"{path}[{index}]", depth + 1) for index, one in enumerate(elements)]
        case (MapType(element), MapHeader(length)):
            keys = {}
            for _ in range(length):
                key = _read_key(reader, path)
                keys[key] = _read(reader, element, f"{path}[{key!r}]", depth + 1)
            return keys
        case (ObjectType(attributes), MapHeader(length)):
            return _read_object(reader, attributes, length, path, depth)
        case _:
            raise ValueMismatch(path, f"{type(item).__name__} is not a {type_name(value_type)}")


def _read_object(reader: MessageReader, attributes: Any, length: int, path: str, depth: int) -> Any:
    found = {}
    for _ in range(length):
        name = _read_key(reader, path)
        if name not in attributes:
            raise ValueMismatch(path, f"there is no attribute {name!r}")
        found[name] = _read(reader, attributes[name], _child(path, name), depth + 1)
    if len(found) != len(attributes):
        raise ValueMismatch(path, f"an object of {len(attributes)} attributes has {length}")
    return found


def _read_key(reader: MessageReader, path: str) -> str:
    match reader.next():
        case str(key):
            return key
        case bytes(key):
            return key.decode("utf-8")
        case _:
            raise ValueMismatch(path, "a key is not a string")


def _read_unknown(item: Extension, path: str) -> Unknown:
    if item.code != _REFINEMENT or len(item.content) <= 1:
        return UNKNOWN
    if len(item.content) > _MAX_REFINEMENT_BYTES:
        raise ValueMismatch(path, "the refinements of an unknown value are too long")
    return Unknown(item.content)


def _read_dynamic(reader: MessageReader, item: Any, path: str, depth: int) -> DynamicValue:
    notation = reader.next() if item == ArrayHeader(2) else None
    if not isinstance(notation, (bytes, str)):
        raise ValueMismatch(path, "a dynamic value has no type")
    value_type = type_from_json(notation)
    return DynamicValue(value_type, _read(reader, value_type, path, depth + 1))


def _read_primitive(item: Any, value_type: ValueType, path: str) -> Any:
    match item:
        case bool() if value_type == BOOL:
            return item
        case str() if value_type == STRING:
            return item
        case bytes() if value_type == STRING:
            return item.decode("utf-8")
        case str() if value_type == NUMBER:
            return number_from_text(item)
        case float() if value_type == NUMBER and math.isnan(item):
            raise ValueMismatch(path, "a number is NaN")
        case bool():
            pass
        case int() | float() if value_type == NUMBER:
            return item
    raise ValueMismatch(path, f"{type(item).__name__} is not a {value_type}")


def _write(writer: MessageWriter, value: Any, value_type: ValueType, path: str, depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise ValueMismatch(path, f"the value has more than {_MAX_DEPTH} levels")
    match value_type, value:
        case (_, Unknown()):
            if value.refinement is None or value_type == DYNAMIC:
                writer.extension(0, b"\0")
            else:
                writer.extension(_REFINEMENT, value.refinement)
        case (_, None):
            writer.nil()
        case (str(), DynamicValue(inner_type, inner)) if value_type == DYNAMIC:
            if inner_type != DYNAMIC:
                writer.array_header(2).binary(type_to_json(inner_type).encode())
            _write(writer, inner, inner_type, path, depth + 1)
        case (str(), _) if value_type == DYNAMIC:
            raise ValueMismatch(path, "a value of type dynamic must be a DynamicValue")
        case (str(), _):
            _write_primitive(writer, value, value_type, path)
        case (ListType(element) | SetType(element), list() | tuple() | set() | frozenset()):
            writer.array_header(len(value))
            for index, one in enumerate(value):
                _write(writer, one, element, f"{path}[{index}]", depth + 1)
        case (TupleType(elements), list() | tuple()):
            if len(elements) != len(value):
                raise ValueMismatch(path, f"a tuple of {len(elements)} elements has {len(value)}")
            writer.array_header(len(value))
            for index, (one, element) in enumerate(zip(value, elements)):
                _write(writer, one, element, f"{path}[{index}]", depth + 1)
        case (MapType(element), dict()):
            writer.map_header(len(value))
            for key in sorted(value):
                writer.string(key)
                _write(writer, value[key], element, f"{path}[{key!r}]", depth + 1)
        case (ObjectType(attributes), dict()):
            for name in value:
                if name not in attributes:
                    raise ValueMismatch(path, f"there is no attribute {name!r}")
            writer.map_header(len(attributes))
            for name in sorted(attributes):
                writer.string(name)
                _write(writer, value.get(name), attributes[name], _child(path, name), depth + 1)
        case _:
            raise _mismatch(value, value_type, path)


def _write_primitive(writer: MessageWriter, value: Any, value_type: ValueType, path: str) -> None:
    if value_type == STRING and isinstance(value, str):
        writer.string(value)
    elif value_type == BOOL and isinstance(value, bool):
        writer.bool(value)
    elif value_type == NUMBER and is_number(value):
        _write_number(writer, value, path)
    else:
        raise _mismatch(value, value_type, path)


def _write_number(writer: MessageWriter, value: Any, path: str) -> None:
    if not math.isfinite(value):
        if math.isnan(value):
            raise ValueMismatch(path, "a number is NaN")
        writer.float(float(value))
        return
    whole = int(value)
    if whole == value and -(1 << 63) <= whole < 1 << 63:
        writer.integer(whole)
    elif whole == value:
        writer.string(str(whole))
    elif isinstance(value, float) and is_exact_float(value):
        writer.float(value)
    else:
        writer.string(text_of_number(value))


def _mismatch(value: Any, value_type: ValueType, path: str) -> ValueMismatch:
    return ValueMismatch(path, f"{type(value).__name__} is not a {type_name(value_type)}")


def _child(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def same(left: Any, right: Any) -> bool:
    """Compares two values of one type."""
    if is_number(left) and is_number(right):
        return same_number(left, right)
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[name], right[name]) for name in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    if isinstance(left, DynamicValue) and isinstance(right, DynamicValue):
        return left.type == right.type and same(left.value, right.value)
    return type(left) is type(right) and left == right


def without_unknown(value: Any, path: str = "") -> tuple[Any, str | None]:
    """Returns the value with null instead of unknown values, and the path of the first of them."""
    if isinstance(value, Unknown):
        return None, path or "the value"
    if isinstance(value, DynamicValue):
        inner, first = without_unknown(value.value, path)
        return DynamicValue(value.type, inner), first
    if isinstance(value, dict):
        parts = {name: without_unknown(one, _child(path, str(name))) for name, one in value.items()}
        first = next((found for _, found in parts.values() if found is not None), None)
        return {name: known for name, (known, _) in parts.items()}, first
    if isinstance(value, (list, tuple)):
        elements = [without_unknown(one, f"{path}[{index}]") for index, one in enumerate(value)]
        first = next((found for _, found in elements if found is not None), None)
        return [known for known, _ in elements], first
    return value, None
