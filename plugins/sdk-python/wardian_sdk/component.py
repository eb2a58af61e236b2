"""The exports of a component. It imports interfaces of the host, so only a component can load it."""

from __future__ import annotations

import logging
from typing import Any

from componentize_py_types import Err
from wit_world.imports import http as host_http
from wit_world.imports import log as host_log
from wit_world.imports import run as host_run
from wit_world.imports import shared as host_shared

from . import http, run, shared
from .provider import Provider
from .service import Service

_LEVELS = (
    (logging.ERROR, host_log.Level.ERROR),
    (logging.WARNING, host_log.Level.WARN),
    (logging.INFO, host_log.Level.INFO),
    (logging.DEBUG, host_log.Level.DEBUG),
)
#: Attributes of every log record; all others are fields.
_RECORD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


class HostLogHandler(logging.Handler):
    """Sends records of ``logging`` to the host. ``extra`` becomes the fields of the line."""

    def emit(self, record: logging.LogRecord) -> None:
        level = next((host for least, host in _LEVELS if record.levelno >= least), host_log.Level.TRACE)
        if not host_log.enabled(level):
            return
        fields = [(name, str(value)) for name, value in vars(record).items() if name not in _RECORD]
        module = "" if record.name == "root" else record.name
        host_log.write(level, module, self.format(record), fields)


class _HostTransport:
    def send(self, request: http.Request) -> http.Response:
        timeouts = host_http.Timeouts(
            _milliseconds(request.connect_timeout),
            _milliseconds(request.first_byte_timeout),
            _milliseconds(request.between_bytes_timeout),
        )
        head = host_http.RequestHead(
            request.method, request.url, list(request.headers), timeouts, request.ends_on_interrupt
        )
        try:
            response = host_http.send(host_http.Request(head, request.body))
        except Err as error:
            raise _http_error(error.value) from None
        headers: dict[str, str] = {}
        for name, value in response.headers:
            text = value.decode("utf-8", "replace")
            known = headers.get(name.lower())
            headers[name.lower()] = text if known is None else f"{known}, {text}"
        return http.Response(response.status, headers, _Body(response.body))


class _Body:
    def __init__(self, body: host_http.ResponseBody) -> None:
        self._body = body

    def read(self, most: int) -> bytes:
        try:
            return self._body.read(most)
        except Err as error:
            raise _http_error(error.value) from None


def _http_error(error: Any) -> http.HttpError:
    match error:
        case host_http.HttpError_Denied():
            return http.HttpError("denied", "the policy denies the request")
        case host_http.HttpError_Invalid(message):
            return http.HttpError("invalid", message)
        case host_http.HttpError_TimedOut(message):
            return http.HttpError("timed-out", message)
        case host_http.HttpError_TooLarge():
            return http.HttpError("too-large", "the response is larger than the host's limit")
        case host_http.HttpError_Interrupted():
            return http.HttpError("interrupted", "the run was interrupted")
        case _:
            return http.HttpError("failed", str(error.value))


class _HostMemory:
    def get(self, key: str) -> tuple[bytes, int] | None:
        found = host_shared.get(key)
        return None if found is None else (found.value, found.version)

    def put(self, key: str, value: bytes, expected: shared.Expectation) -> int:
        try:
            return host_shared.put(key, value, _expectation(expected))
        except Err as error:
            raise _shared_error(error.value) from None

    def remove(self, key: str, expected: shared.Expectation) -> None:
        try:
            host_shared.remove(key, _expectation(expected))
        except Err as error:
            raise _shared_error(error.value) from None

    def lock(self, name: str, milliseconds: int) -> shared.HeldLock:
        try:
            return _HostLock(host_shared.lock(name, milliseconds))
        except Err as error:
            raise _shared_error(error.value) from None

    def take(self, name: str, events: int, seconds: int, burst: int) -> None:
        try:
            host_shared.take(name, host_shared.Rate(events, seconds, burst))
        except Err as error:
            raise _shared_error(error.value) from None


class _HostLock:
    def __init__(self, held: host_shared.HeldLock) -> None:
        self._held = held

    def renew(self, milliseconds: int) -> bool:
        return self._held.renew(milliseconds)

    def release(self) -> None:
        self._held.__exit__(None, None, None)


def _expectation(expected: shared.Expectation) -> host_shared.Expectation:
    match expected.state:
        case "any":
            return host_shared.Expectation_Any()
        case "absent":
            return host_shared.Expectation_Absent()
        case _:
            return host_shared.Expectation_Version(expected.version)


def _shared_error(error: Any) -> shared.SharedError:
    match error:
        case host_shared.SharedError_Conflict():
            return shared.SharedError("conflict")
        case host_shared.SharedError_Limit(problem):
            return shared.SharedError("limit", problem)
        case _:
            return shared.SharedError("interrupted")


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else max(1, round(seconds * 1000))


def _record(state: bytes, private: bytes) -> None:
    try:
        host_run.record_state(host_run.RecordedState(state, private, None))
    except Err as error:
        # The host keeps no state for this call; the state is then in the response.
        if not isinstance(error.value, host_run.RecordError_Unavailable):
            raise RuntimeError(f"the state could not be recorded: {error.value.value}") from None


def export(provider: Provider) -> tuple[type, type, type]:
    """Returns the classes that a component exports: ``ProviderBase, EphemeralResources,
    ProviderFunctions = export(provider)``."""
    http.set_transport(_HostTransport())
    run.set_run(host_run)
    shared.set_memory(_HostMemory())
    logging.basicConfig(level=logging.DEBUG, handlers=[HostLogHandler()], format="%(message)s", force=True)
    service = Service(provider, _record)

    class Exports:
        """Each exported class has the calls of all three interfaces."""

        def __getattribute__(self, name: str) -> Any:
            return getattr(service, name)

    return Exports, Exports, Exports
