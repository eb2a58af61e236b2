"""Converts schemas, functions and diagnostics to the records of the WIT interface."""

from __future__ import annotations

from typing import Mapping

from wit_world.imports import provider_types, types

from .diagnostics import Diagnostic, Key, Path
from .provider import Parameter, ProviderFunction
from .schema import Attribute, Schema
from .value_types import type_to_json


def diagnostic_record(diagnostic: Diagnostic) -> types.Diagnostic:
    is_error = diagnostic.severity == "error"
    return types.Diagnostic(
        types.Severity.ERROR if is_error else types.Severity.WARNING,
        diagnostic.summary,
        diagnostic.detail,
        None if diagnostic.path is None else path_record(diagnostic.path),
    )


def path_record(path: Path) -> list[types.PathStep]:
    return [_step(step) for step in path]


def _step(step: str | int | Key) -> types.PathStep:
    match step:
        case str():
            return types.PathStep_AttributeName(step)
        case Key(key):
            return types.PathStep_ElementKeyString(key)
        case _:
            return types.PathStep_ElementKeyInt(step)


def markdown(text: str) -> types.Description:
    return types.Description(text, types.StringKind.MARKDOWN if text else types.StringKind.PLAIN)


def deprecation(message: str | None) -> types.Deprecation:
    if message is None:
        return types.Deprecation_None_()
    return types.Deprecation_Message(message) if message else types.Deprecation_Deprecated()


def schema_record(schema: Schema) -> types.Schema:
    """Returns the record of a schema. Blocks and nested objects refer to later entries of two lists."""
    lists = _Lists()
    lists.add(schema)
    return types.Schema(schema.version, lists.blocks, lists.objects)


class _Lists:
    def __init__(self) -> None:
        self.blocks: list[types.Block] = []
        self.objects: list[types.NestedObject] = []

    def add(self, schema: Schema) -> int:
        index = len(self.blocks)
        record = types.Block([], [], markdown(schema.description), deprecation(schema.deprecated))
        self.blocks.append(record)
        record.attributes = self._attributes(schema.attributes)
        record.block_types = [
            types.NestedBlock(
                name,
                self.add(block.contents),
                types.BlockNesting[block.nesting.upper()],
                block.minimum,
                block.maximum,
            )
            for name, block in schema.blocks.items()
        ]
        return index

    def _attributes(self, attributes: Mapping[str, Attribute]) -> list[types.Attribute]:
        return [
            types.Attribute(
                name=name,
                type=self._type(attribute),
                description=markdown(attribute.description),
                required=attribute.required,
                optional=attribute.optional,
                computed=attribute.computed,
                sensitive=attribute.sensitive,
                write_only=attribute.write_only,
                deprecation=deprecation(attribute.deprecated),
            )
            for name, attribute in attributes.items()
        ]

    def _type(self, attribute: Attribute) -> types.AttributeType:
        nested = attribute.nested
        if nested is None:
            return types.AttributeType_Value(type_to_json(attribute.type))
        index = len(self.objects)
        record = types.NestedObject([], types.ObjectNesting[nested.nesting.upper()])
        self.objects.append(record)
        record.attributes = self._attributes(nested.attributes)
        return types.AttributeType_Nested(index)


def function_record(function: ProviderFunction) -> provider_types.Function:
    return provider_types.Function(
        [_parameter(one) for one in function.parameters],
        None if function.variadic is None else _parameter(function.variadic),
        type_to_json(function.returns),
        function.summary,
        markdown(function.description),
        deprecation(function.deprecated),
    )


def _parameter(parameter: Parameter) -> provider_types.Parameter:
    return provider_types.Parameter(
        parameter.name,
        type_to_json(parameter.type),
        parameter.allow_null,
        parameter.allow_unknown,
        markdown(parameter.description),
    )
