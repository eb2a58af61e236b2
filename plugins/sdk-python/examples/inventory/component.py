"""The component of the provider ``inventory``."""

from provider import inventory
from wardian_sdk.component import export

ProviderBase, EphemeralResources, ProviderFunctions = export(inventory)
