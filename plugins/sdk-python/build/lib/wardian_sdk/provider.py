"""The parts of a provider: base classes whose methods a provider overrides."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Callable, Mapping, Sequence

from .diagnostics import Diagnostic, Path
from .schema import Schema
from .value_types import ValueType

State = dict[str, Any]


@dataclass
class Context:
    """The context of one call.

    ``client`` is the result of the provider's ``configure``. ``config`` is the configuration, which
    contains write-only values. ``private`` is stored with the object, and only the provider interprets
    it. ``renew_at`` is the time by which an ephemeral resource must be renewed. ``requires_replace``
    receives paths whose change requires a replacement, during ``plan``.
    """

    client: Any = None
    config: Any = None
    private: bytes = b""
    renew_at: datetime | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    requires_replace: list[Path] = field(default_factory=list)
    partial: State | None = None
    recorder: Callable[[State, bytes], None] | None = None

    def report(self, diagnostic: Diagnostic) -> None:
        """Adds a warning, or an error that does not end the call."""
        self.diagnostics.append(diagnostic)

    def save_partial(self, state: State) -> None:
        """Records the state of an object during ``create`` or ``update``. It is stored if the operation
        does not return, for whatever reason."""
        self.partial = state
        if self.recorder is not None:
            self.recorder(state, self.private)


class Resource:
    """A managed resource type."""

    def schema(self) -> Schema:
        raise NotImplementedError(f"{type(self).__name__}.schema")

    def validate(self, config: State, context: Context) -> None:
        """Checks a configuration, which may contain unknown values; raises a ProviderError."""

    def plan(self, prior: State | None, planned: State, context: Context) -> State:
        """Changes the plan of a create (``prior`` is None) or an update."""
        return planned

    def create(self, planned: State, context: Context) -> State:
        """Creates an object. Returns its state, in which nothing is unknown."""
        raise NotImplementedError(f"{type(self).__name__}.create")

    def read(self, state: State, context: Context) -> State | None:
        """Reads an object. Returns None if it does not exist."""
        return state

    def update(self, prior: State, planned: State, context: Context) -> State:
        """Changes an object."""
        raise NotImplementedError(f"{type(self).__name__}.update")

    def delete(self, state: State, context: Context) -> None:
        """Deletes an object."""

    def import_state(self, object_id: str, context: Context) -> State:
        """Finds an object by its ID. ``read`` completes the state."""
        raise NotImplementedError(f"{type(self).__name__} cannot be imported")

    def upgraders(self) -> Mapping[int, Callable[[Any], Any]]:
        """Returns functions by schema version: each converts the parsed JSON of a state that was stored
        with this version to that of the current version."""
        return {}


class DataSource:
    """A data source."""

    def schema(self) -> Schema:
        raise NotImplementedError(f"{type(self).__name__}.schema")

    def validate(self, config: State, context: Context) -> None:
        """Checks a configuration, which may contain unknown values; raises a ProviderError."""

    def read(self, config: State, context: Context) -> State:
        """Returns the configuration with the computed attributes."""
        raise NotImplementedError(f"{type(self).__name__}.read")


class EphemeralResource:
    """A resource that exists only during a run."""

    def schema(self) -> Schema:
        raise NotImplementedError(f"{type(self).__name__}.schema")

    def validate(self, config: State, context: Context) -> None:
        """Checks a configuration, which may contain unknown values; raises a ProviderError."""

    def open(self, config: State, context: Context) -> State:
        """Returns the result. ``context.private`` is passed to ``renew`` and ``close``."""
        raise NotImplementedError(f"{type(self).__name__}.open")

    def renew(self, context: Context) -> None:
        """Renews an open resource."""

    def close(self, context: Context) -> None:
        """Closes a resource."""


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function."""

    name: str
    type: ValueType
    allow_null: bool = False
    allow_unknown: bool = False
    description: str = ""


@dataclass(frozen=True, kw_only=True)
class ProviderFunction:
    """A function. ``call`` is a pure function of the arguments; ``variadic`` is the parameter of all
    further arguments."""

    summary: str
    returns: ValueType
    call: Callable[..., Any]
    parameters: Sequence[Parameter] = ()
    variadic: Parameter | None = None
    description: str = ""
    deprecated: str | None = None


class ArgumentError(Exception):
    """The error of a function call that one argument caused."""

    def __init__(self, argument: int, message: str) -> None:
        super().__init__(message)
        self.argument = argument


def _no_client(config: State, context: Context) -> None:
    pass


def _valid(config: State) -> None:
    pass


@dataclass(frozen=True, kw_only=True)
class Provider:
    """A provider: its schema, its parts, and the function that creates the client of a configuration."""

    schema: Schema = field(default_factory=Schema)
    validate: Callable[[State], None] = _valid
    configure: Callable[[State, Context], Any] = _no_client
    resources: Mapping[str, Resource] = field(default_factory=dict)
    data_sources: Mapping[str, DataSource] = field(default_factory=dict)
    ephemeral_resources: Mapping[str, EphemeralResource] = field(default_factory=dict)
    functions: Mapping[str, ProviderFunction] = field(default_factory=dict)
