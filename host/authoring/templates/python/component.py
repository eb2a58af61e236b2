"""The component. It imports interfaces of the host, so CPython cannot load this module."""

from wardian_sdk.component import export

from @@name@@_provider import provider

ProviderBase, EphemeralResources, ProviderFunctions = export(provider)
