"""Errors and warnings for the user."""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Literal, Union


@dataclass(frozen=True)
class Key:
    """A key of a map in a path."""

    key: str


#: Names of attributes, indexes, and keys of maps as ``Key``: ``("disk", 0, "size")``.
Path = tuple[Union[str, int, Key], ...]


@dataclass(frozen=True)
class Diagnostic:
    """An error or a warning. The summary is one line; the path is the part of the configuration."""

    severity: Literal["error", "warning"]
    summary: str
    detail: str = ""
    path: Path | None = None

    @classmethod
    def error(cls, summary: str, detail: str = "", path: Path | None = None) -> Diagnostic:
        return cls("error", summary, detail, path)

    @classmethod
    def warning(cls, summary: str, detail: str = "", path: Path | None = None) -> Diagnostic:
        return cls("warning", summary, detail, path)


class ProviderError(Exception):
    """An exception that ends a call with a diagnostic, which the user sees without a traceback."""

    def __init__(self, summary: str, detail: str = "", path: Path | None = None) -> None:
        super().__init__(f"{summary}: {detail}" if detail else summary)
        self.diagnostic = Diagnostic.error(summary, detail, path)


def diagnostic_of(error: BaseException, operation: str) -> Diagnostic:
    """Returns the diagnostic of an exception. The traceback of an unexpected one is in the detail."""
    if isinstance(error, ProviderError):
        return error.diagnostic
    trace = "".join(traceback.format_exception(error)).rstrip()
    return Diagnostic.error(
        f"Unexpected exception while {operation}",
        f"The provider did not handle this exception, which is an error in the provider:\n\n{trace}",
    )
