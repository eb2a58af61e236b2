"""HTTP requests through the host, which checks each request against policy and provides TLS.

The standard library's ``urllib`` and ``http.client`` do not work in a component.
"""

from __future__ import annotations

import json as json_module
from dataclasses import dataclass, field
from typing import Any, Iterator, Literal, Mapping, Protocol

from . import run

#: Why there is no response, or only a part of it.
Reason = Literal["denied", "invalid", "timed-out", "too-large", "interrupted", "failed"]

_PART = 64 * 1024
#: The methods of requests that change nothing.
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})


class HttpError(Exception):
    """A request without a response, or with an incomplete one."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True)
class Request:
    """A request. Timeouts are in seconds; ``None`` is the host's."""

    method: str
    url: str
    headers: tuple[tuple[str, bytes], ...] = ()
    body: bytes = b""
    connect_timeout: float | None = None
    first_byte_timeout: float | None = None
    between_bytes_timeout: float | None = None
    ends_on_interrupt: bool = False


class Body(Protocol):
    """A response body."""

    def read(self, most: int) -> bytes:
        """Returns at most ``most`` further bytes; none after the last ones."""


@dataclass
class Response:
    """A response with any status. The names of ``headers`` are in lower case."""

    status: int
    headers: dict[str, str]
    stream: Body
    _content: bytes | None = field(default=None, repr=False)

    def parts(self) -> Iterator[bytes]:
        """Yields the body in parts, as the server sends it."""
        while part := self.stream.read(_PART):
            yield part

    @property
    def content(self) -> bytes:
        """The complete body."""
        if self._content is None:
            self._content = b"".join(self.parts())
        return self._content

    def text(self) -> str:
        """Returns the body as UTF-8."""
        return self.content.decode("utf-8")

    def json(self) -> Any:
        """Returns the body as JSON."""
        return json_module.loads(self.content)


class Transport(Protocol):
    """Sends requests. Tests replace the host's with ``set_transport``."""

    def send(self, request: Request) -> Response: ...


class _NoTransport:
    def send(self, request: Request) -> Response:
        raise HttpError("failed", "there is no host; a test must call `set_transport` first")


_transport: Transport = _NoTransport()


def set_transport(transport: Transport) -> None:
    """Replaces the transport of all requests."""
    global _transport  # pylint: disable=global-statement
    _transport = transport


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | str = b"",
    json: Any = None,
    timeout: float | None = None,
    ends_on_interrupt: bool | None = None,
) -> Response:
    """Sends a request, and waits for the head of the response. Redirects are returned, not followed.

    ``json`` is encoded as the body. ``timeout`` limits in seconds the time until the first byte, and the
    time between two parts of the body.

    ``ends_on_interrupt`` is whether the request ends with the reason "interrupted" if the run is
    interrupted while it is in progress. By default, requests with the methods GET, HEAD and OPTIONS do, and
    others do not, because their effect would be unknown. A request that begins after the interruption does
    not end.
    """
    fields = [(name, value.encode("utf-8")) for name, value in (headers or {}).items()]
    content = body.encode("utf-8") if isinstance(body, str) else body
    if json is not None:
        content = json_module.dumps(json).encode("utf-8")
        fields.append(("content-type", b"application/json"))
    if ends_on_interrupt is None:
        ends_on_interrupt = method.upper() in _SAFE_METHODS
    return _transport.send(
        Request(
            method,
            url,
            tuple(fields),
            content,
            first_byte_timeout=timeout,
            between_bytes_timeout=timeout,
            ends_on_interrupt=ends_on_interrupt and not run.interrupted(),
        )
    )
