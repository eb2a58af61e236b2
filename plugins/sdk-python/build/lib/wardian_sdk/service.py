"""Converts the records of the WIT interface to calls of a provider's parts, and results to records."""

from __future__ import annotations

from contextlib import contextmanager
from datetime import datetime
from typing import Any, Callable, Generic, Iterator, Mapping, TypeVar

from componentize_py_types import Err
from wit_world.imports import provider_types as wire
from wit_world.imports import types

from .check import check
from .diagnostics import Diagnostic, ProviderError, diagnostic_of
from .plan import plan_change
from .provider import (
    ArgumentError,
    Context,
    DataSource,
    EphemeralResource,
    Provider,
    Resource,
    State,
)
from .schema import Schema
from .stored import from_json, parse_json
from .unknown import is_unknown
from .value_types import ObjectType
from .values import DynamicValue, decode, encode, without_unknown
from .wire import diagnostic_record, function_record, path_record, schema_record

Part = TypeVar("Part", Resource, DataSource, EphemeralResource)
#: Records a state durably: its encoding, and the private data.
Recorder = Callable[[bytes, bytes], None]


class _Typed(Generic[Part]):
    """A part, with its schema and type."""

    def __init__(self, part: Part) -> None:
        self.part = part
        self.schema: Schema = part.schema()
        self.type: ObjectType = self.schema.type

    def stored(self, state: Any) -> bytes:
        """Encodes a state without the values of write-only attributes."""
        return encode(_without_write_only(self.schema, state), self.type)


class _Report:
    """The diagnostics of a call."""

    def __init__(self, operation: str) -> None:
        self.operation = operation
        self._diagnostics: list[Diagnostic] = []

    def add(self, *diagnostics: Diagnostic) -> None:
        self._diagnostics.extend(diagnostics)

    @contextmanager
    def of(self, context: Context) -> Iterator[None]:
        """Adds the diagnostics of a context, even if the call fails."""
        try:
            yield
        finally:
            self.add(*context.diagnostics)

    @contextmanager
    def catching(self) -> Iterator[None]:
        """Adds the diagnostic of the exception that ends a call."""
        try:
            yield
        except Exception as error:  # pylint: disable=broad-except
            self.add(diagnostic_of(error, self.operation))

    def records(self) -> list[types.Diagnostic]:
        return [diagnostic_record(one) for one in self._diagnostics]


class Service:
    """The calls of a provider."""

    def __init__(self, provider: Provider, recorder: Recorder | None = None) -> None:
        self._provider = provider
        self._recorder = recorder
        self._type = provider.schema.type
        self._client: Any = None
        self._resources = {name: _Typed(part) for name, part in provider.resources.items()}
        self._data_sources = {name: _Typed(part) for name, part in provider.data_sources.items()}
        self._ephemeral = {name: _Typed(part) for name, part in provider.ephemeral_resources.items()}

    # Metadata and schemas

    def get_metadata(self) -> wire.Metadata:
        return wire.Metadata(
            server_capabilities=_server_capabilities(),
            diagnostics=[],
            resources=list(self._resources),
            data_sources=list(self._data_sources),
            ephemeral_resources=list(self._ephemeral),
            list_resources=[],
            actions=[],
            functions=list(self._provider.functions),
        )

    def get_provider_schema(self) -> wire.ProviderSchema:
        return wire.ProviderSchema(
            server_capabilities=_server_capabilities(),
            diagnostics=[],
            provider=schema_record(self._provider.schema),
            provider_meta=None,
            resources=_schemas(self._resources),
            data_sources=_schemas(self._data_sources),
            ephemeral_resources=_schemas(self._ephemeral),
            list_resources=[],
            actions=[],
            functions=self.get_functions(),
        )

    def get_resource_identity_schemas(self) -> wire.IdentitySchemas:
        return wire.IdentitySchemas([], [])

    # Provider configuration

    def validate_provider_config(self, config: bytes) -> list[types.Diagnostic]:
        report = _Report("validating the provider's configuration")
        with report.catching():
            value = decode(config, self._type)
            report.add(*check(self._provider.schema, value, True))
            if value is not None:
                self._provider.validate(value)
        return report.records()

    def configure_provider(self, request: wire.ConfigureProviderRequest) -> list[types.Diagnostic]:
        report = _Report("configuring the provider")
        with report.catching():
            context = Context()
            with report.of(context):
                self._client = self._provider.configure(decode(request.config, self._type), context)
        return report.records()

    def stop_provider(self) -> None:
        """Calls in flight end by themselves."""

    # Managed resources

    def validate_resource_config(self, request: wire.ValidateConfigRequest) -> list[types.Diagnostic]:
        return _validate(self._resources, request)

    def upgrade_resource_state(
        self, request: wire.UpgradeResourceStateRequest
    ) -> wire.UpgradeResourceStateResponse:
        report = _Report(f"upgrading the state of {request.type_name}")
        upgraded = b""
        with report.catching():
            typed = _find(self._resources, request.type_name)
            if not isinstance(request.raw_state, types.RawState_Json):
                raise ProviderError(
                    "Unable to read the stored state",
                    "It is in the format of Terraform 0.11 and older. Refresh it with Terraform 0.12 first.",
                )
            document = _readable(lambda: parse_json(request.raw_state.value))
            if request.version != typed.schema.version:
                upgrader = typed.part.upgraders().get(request.version)
                if upgrader is None:
                    raise ProviderError(
                        "Unable to upgrade the stored state",
                        f"The state of {request.type_name} was stored with schema version "
                        f"{request.version}. This provider has version {typed.schema.version} and cannot "
                        "upgrade from the stored version.",
                    )
                document = upgrader(document)
            upgraded = typed.stored(_readable(lambda: from_json(document, typed.type)))
        return wire.UpgradeResourceStateResponse(upgraded, report.records())

    def upgrade_resource_identity(
        self, request: wire.UpgradeResourceIdentityRequest
    ) -> wire.UpgradeResourceIdentityResponse:
        error = Diagnostic.error("Resource without identity", f"{request.type_name} has no identity.")
        return wire.UpgradeResourceIdentityResponse(b"", [diagnostic_record(error)])

    def read_resource(self, request: wire.ReadResourceRequest) -> wire.ReadResourceResponse:
        report = _Report(f"reading {request.type_name}")
        response = wire.ReadResourceResponse(
            new_state=request.current_state,
            diagnostics=[],
            private=request.private,
            deferred=None,
            new_identity=request.current_identity,
        )
        with report.catching():
            typed = _find(self._resources, request.type_name)
            state = decode(request.current_state, typed.type)
            if state is not None:
                context = Context(client=self._client, private=request.private)
                with report.of(context):
                    new_state = typed.part.read(state, context)
                response.private = context.private
                response.new_state = typed.stored(new_state)
        response.diagnostics = report.records()
        return response

    def plan_resource_change(
        self, request: wire.PlanResourceChangeRequest
    ) -> wire.PlanResourceChangeResponse:
        report = _Report(f"planning {request.type_name}")
        response = wire.PlanResourceChangeResponse(
            planned_state=request.proposed_new_state,
            requires_replace=[],
            planned_private=request.prior_private,
            diagnostics=[],
            legacy_type_system=False,
            deferred=None,
            planned_identity=request.prior_identity,
        )
        with report.catching():
            self._plan(request, response, report)
        response.diagnostics = report.records()
        return response

    def _plan(
        self,
        request: wire.PlanResourceChangeRequest,
        response: wire.PlanResourceChangeResponse,
        report: _Report,
    ) -> None:
        typed = _find(self._resources, request.type_name)
        config = decode(request.config, typed.type)
        prior = decode(request.prior_state, typed.type)
        proposed = decode(request.proposed_new_state, typed.type)
        if proposed is None:
            return
        planned, requires_replace = plan_change(typed.schema, config, prior, proposed)
        context = Context(client=self._client, config=config, private=request.prior_private)
        with report.of(context):
            changed = typed.part.plan(prior, planned, context)
        response.planned_state = encode(changed, typed.type)
        response.requires_replace = [
            path_record(path) for path in (*requires_replace, *context.requires_replace)
        ]
        response.planned_private = context.private

    def apply_resource_change(
        self, request: wire.ApplyResourceChangeRequest
    ) -> wire.ApplyResourceChangeResponse:
        report = _Report(f"applying {request.type_name}")
        response = wire.ApplyResourceChangeResponse(
            new_state=request.prior_state,
            private=request.planned_private,
            diagnostics=[],
            legacy_type_system=False,
            new_identity=request.planned_identity,
        )
        with report.catching():
            self._apply(request, response, report)
        response.diagnostics = report.records()
        return response

    def _apply(
        self,
        request: wire.ApplyResourceChangeRequest,
        response: wire.ApplyResourceChangeResponse,
        report: _Report,
    ) -> None:
        typed = _find(self._resources, request.type_name)
        config = decode(request.config, typed.type)
        prior = decode(request.prior_state, typed.type)
        planned = decode(request.planned_state, typed.type)

        def record(state: State, private: bytes) -> None:
            if self._recorder is not None:
                self._recorder(typed.stored(without_unknown(state)[0]), private)

        context = Context(
            client=self._client, config=config, private=request.planned_private, recorder=record
        )
        try:
            with report.of(context):
                state = _apply(typed.part, prior, planned, context, report)
            known, unknown_path = without_unknown(state)
            if planned is not None and known is None:
                raise ProviderError("Provider returned no state", f"After {report.operation}, there is none.")
            response.new_state = typed.stored(known)
            if unknown_path is not None:
                raise ProviderError(
                    "Provider returned an unknown value after apply",
                    f"{request.type_name}: {unknown_path} is still unknown. "
                    "This is an error in the provider.",
                )
        except Exception:
            if context.partial is not None:
                response.new_state = typed.stored(without_unknown(context.partial)[0])
            raise
        finally:
            response.private = context.private

    def import_resource_state(
        self, request: wire.ImportResourceStateRequest
    ) -> wire.ImportResourceStateResponse:
        report = _Report(f"importing {request.type_name}")
        imported = []
        with report.catching():
            typed = _find(self._resources, request.type_name)
            if not isinstance(request.target, wire.ImportTarget_Id):
                raise ProviderError("Import without ID", f"{request.type_name} is imported by its ID.")
            context = Context(client=self._client)
            with report.of(context):
                state = typed.part.import_state(request.target.value, context)
            private = context.private
            imported.append(wire.ImportedResource(request.type_name, typed.stored(state), private, None))
        return wire.ImportResourceStateResponse(imported, report.records(), None)

    # Data sources

    def validate_data_resource_config(self, request: wire.ValidateConfigRequest) -> list[types.Diagnostic]:
        return _validate(self._data_sources, request)

    def read_data_source(self, request: wire.ReadDataSourceRequest) -> wire.ReadDataSourceResponse:
        report = _Report(f"reading data.{request.type_name}")
        state = b""
        with report.catching():
            typed = _find(self._data_sources, request.type_name)
            config = decode(request.config, typed.type)
            context = Context(client=self._client, config=config)
            with report.of(context):
                state = encode(typed.part.read(config, context), typed.type)
        return wire.ReadDataSourceResponse(state, report.records(), None)

    # Ephemeral resources

    def validate_ephemeral_resource_config(
        self, request: wire.ValidateConfigRequest
    ) -> list[types.Diagnostic]:
        return _validate(self._ephemeral, request)

    def open_ephemeral_resource(
        self, request: wire.OpenEphemeralResourceRequest
    ) -> wire.OpenEphemeralResourceResponse:
        report = _Report(f"opening {request.type_name}")
        response = wire.OpenEphemeralResourceResponse(b"", [], None, b"", None)
        with report.catching():
            typed = _find(self._ephemeral, request.type_name)
            config = decode(request.config, typed.type)
            context = Context(client=self._client, config=config)
            with report.of(context):
                response.result = encode(typed.part.open(config, context), typed.type)
            response.renew_at = _timestamp(context.renew_at)
            response.private = context.private
        response.diagnostics = report.records()
        return response

    def renew_ephemeral_resource(
        self, type_name: str, private: bytes
    ) -> wire.RenewEphemeralResourceResponse:
        report = _Report(f"renewing {type_name}")
        response = wire.RenewEphemeralResourceResponse([], None, private)
        with report.catching():
            context = Context(client=self._client, private=private)
            with report.of(context):
                _find(self._ephemeral, type_name).part.renew(context)
            response.renew_at = _timestamp(context.renew_at)
            response.private = context.private
        response.diagnostics = report.records()
        return response

    def close_ephemeral_resource(self, type_name: str, private: bytes) -> list[types.Diagnostic]:
        report = _Report(f"closing {type_name}")
        with report.catching():
            context = Context(client=self._client, private=private)
            with report.of(context):
                _find(self._ephemeral, type_name).part.close(context)
        return report.records()

    # Functions

    def get_functions(self) -> list[tuple[str, wire.Function]]:
        return [(name, function_record(one)) for name, one in self._provider.functions.items()]

    def call_function(self, name: str, arguments: list[bytes]) -> bytes:
        """Returns the encoded result, or raises an ``Err`` with a record."""
        try:
            function = self._provider.functions.get(name)
            if function is None:
                raise ProviderError("Unknown function", f"The provider has no function {name}.")
            parameters = list(function.parameters)
            while len(parameters) < len(arguments) and function.variadic is not None:
                parameters.append(function.variadic)
            if len(parameters) != len(arguments):
                raise ProviderError("Wrong number of arguments", f"for the function {name}.")
            values = [decode(one, parameter.type) for one, parameter in zip(arguments, parameters)]
            return encode(function.call(*values), function.returns)
        except ArgumentError as error:
            raise Err(wire.FunctionError(str(error), error.argument)) from None
        except Exception as error:  # pylint: disable=broad-except
            diagnostic = diagnostic_of(error, f"calling the function {name}")
            text = f"{diagnostic.summary}: {diagnostic.detail}" if diagnostic.detail else diagnostic.summary
            raise Err(wire.FunctionError(text, None)) from None


def _readable(read: Callable[[], Any]) -> Any:
    try:
        return read()
    except ValueError as error:
        raise ProviderError("Unable to read the stored state", str(error)) from error


def _find(parts: Mapping[str, _Typed[Part]], name: str) -> _Typed[Part]:
    found = parts.get(name)
    if found is None:
        raise ProviderError("Unknown type", f"The provider has no type {name}.")
    return found


def _validate(
    parts: Mapping[str, _Typed[Part]], request: wire.ValidateConfigRequest
) -> list[types.Diagnostic]:
    report = _Report(f"validating {request.type_name}")
    with report.catching():
        typed = _find(parts, request.type_name)
        config = decode(request.config, typed.type)
        allowed = request.client_capabilities.write_only_attributes_allowed
        report.add(*check(typed.schema, config, allowed))
        if config is not None and not is_unknown(config):
            context = Context(config=config)
            with report.of(context):
                typed.part.validate(config, context)
    return report.records()


def _apply(part: Resource, prior: Any, planned: Any, context: Context, report: _Report) -> Any:
    type_name = report.operation.removeprefix("applying ")
    if planned is None:
        report.operation = f"deleting {type_name}"
        if prior is not None:
            part.delete(prior, context)
        return None
    if prior is None:
        report.operation = f"creating {type_name}"
        return part.create(planned, context)
    report.operation = f"updating {type_name}"
    return part.update(prior, planned, context)


def _without_write_only(schema: Schema, state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    copy = _attributes_without_write_only(schema.attributes, state)
    for name, block in schema.blocks.items():
        contents = block.contents
        copy[name] = _in_each(block.nesting, copy.get(name), lambda one: _without_write_only(contents, one))
    return copy


def _attributes_without_write_only(attributes: Mapping[str, Any], state: Any) -> Any:
    if not isinstance(state, dict):
        return state
    copy = dict(state)
    for name, attribute in attributes.items():
        if attribute.write_only:
            copy[name] = None
        elif attribute.nested is not None:
            inner = attribute.nested.attributes
            copy[name] = _in_each(
                attribute.nested.nesting,
                copy.get(name),
                lambda one: _attributes_without_write_only(inner, one),
            )
    return copy


def _in_each(nesting: str, value: Any, change: Callable[[Any], Any]) -> Any:
    if isinstance(value, DynamicValue):
        return DynamicValue(value.type, _in_each(nesting, value.value, change))
    if nesting in ("single", "group"):
        return change(value)
    if isinstance(value, dict):
        return {key: change(one) for key, one in value.items()}
    return [change(one) for one in value] if isinstance(value, (list, tuple)) else value


def _schemas(parts: Mapping[str, _Typed[Part]]) -> list[tuple[str, types.Schema]]:
    return [(name, schema_record(typed.schema)) for name, typed in parts.items()]


def _server_capabilities() -> wire.ServerCapabilities:
    return wire.ServerCapabilities(
        plan_destroy=False,
        get_provider_schema_optional=True,
        move_resource_state=False,
        generate_resource_config=False,
    )


def _timestamp(time: datetime | None) -> types.Timestamp | None:
    if time is None:
        return None
    seconds = int(time.timestamp() // 1)
    return types.Timestamp(seconds, time.microsecond * 1000)
