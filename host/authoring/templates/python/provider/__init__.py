"""The @@name@@ provider."""

from wardian_sdk import Provider

from .greeting import Greeting
from .note import Note

provider = Provider(
    resources={"@@name@@_note": Note()},
    data_sources={"@@name@@_greeting": Greeting()},
)
