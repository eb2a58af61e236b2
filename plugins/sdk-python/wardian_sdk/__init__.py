"""The library for writing Wardian providers in Python.

A provider is a ``Provider`` with resources, data sources, ephemeral resources and functions. A
component module exports it::

    from wardian_sdk.component import export
    from .provider import provider

    ProviderBase, EphemeralResources, ProviderFunctions = export(provider)
"""

from . import http, run, shared
from .diagnostics import Diagnostic, Key, Path, ProviderError
from .provider import (
    ArgumentError,
    Context,
    DataSource,
    EphemeralResource,
    Parameter,
    Provider,
    ProviderFunction,
    Resource,
    State,
)
from .schema import (
    Attribute,
    Block,
    Schema,
    boolean,
    dynamic,
    list_of,
    map_of,
    nested,
    number,
    set_of,
    string,
)
from .unknown import UNKNOWN, Unknown, is_unknown
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
    type_to_json,
)
from .values import DynamicValue, ValueMismatch, decode, encode

__all__ = [name for name in dir() if not name.startswith("_")]
