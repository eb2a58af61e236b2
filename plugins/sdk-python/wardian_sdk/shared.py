"""Memory, locks and rate limits that all instances of a provider configuration share during a run.

The host runs the concurrent calls of a provider in separate instances with separate memory, so a module
variable exists once per instance. What must exist once per run is kept here: a session, a token, a lock for
each zone, the request rate of an API. Values are encoded as JSON. The host keeps them in memory only, redacts
them in the provider's output, and limits a value to 64 KiB::

    # One instance logs in; the others wait and use its session.
    session = shared.once("session", log_in)

    # At most 10 requests per second, in all instances together.
    shared.RateLimiter("api", events=10).wait()

    # One change of a zone at a time.
    with shared.lock("zone/example.com"):
        ...
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Callable, Literal, Protocol

from . import run
from .diagnostics import ProviderError

#: The lease of a lock whose holder sets none, in seconds.
_LEASE = 600.0


class SharedError(ProviderError):
    """An operation that failed."""

    def __init__(self, reason: Literal["conflict", "limit", "interrupted"], problem: str = "") -> None:
        summary, detail = {
            "conflict": ("Shared value changed", "Another instance changed the value at the same time."),
            "limit": ("Shared memory limit reached", problem),
            "interrupted": ("Interrupted", "The operation ended early because the run is interrupted."),
        }[reason]
        super().__init__(summary, detail)
        self.reason = reason


@dataclass(frozen=True)
class Value:
    """A value and its version, which grows with each change."""

    value: Any
    version: int


@dataclass(frozen=True)
class Expectation:
    """The state of a key in which a value is set or removed: ``ANY``, ``ABSENT`` or ``version(number)``."""

    state: Literal["any", "absent", "version"]
    version: int = 0


#: Any state.
ANY = Expectation("any")
#: The key has no value.
ABSENT = Expectation("absent")


def version(number: int) -> Expectation:
    """Returns the state of a key whose value has a version."""
    return Expectation("version", number)


class HeldLock(Protocol):
    """A lock of a memory."""

    def renew(self, milliseconds: int) -> bool: ...

    def release(self) -> None: ...


class Memory(Protocol):
    """Values as bytes, locks and rates. In a component, they are the host's."""

    def get(self, key: str) -> tuple[bytes, int] | None: ...

    def put(self, key: str, value: bytes, expected: Expectation) -> int: ...

    def remove(self, key: str, expected: Expectation) -> None: ...

    def lock(self, name: str, milliseconds: int) -> HeldLock: ...

    def take(self, name: str, events: int, seconds: int, burst: int) -> None: ...


class LocalMemory:
    """The memory of unit tests. A wait for a lock that is held is an error, because it would not end."""

    def __init__(self) -> None:
        self._values: dict[str, tuple[bytes, int]] = {}
        self._locks: dict[str, _LocalLock] = {}
        self._rates: dict[str, float] = {}
        self._last = 0

    def get(self, key: str) -> tuple[bytes, int] | None:
        return self._values.get(key)

    def put(self, key: str, value: bytes, expected: Expectation) -> int:
        self._expect(key, expected)
        self._last += 1
        self._values[key] = (value, self._last)
        return self._last

    def remove(self, key: str, expected: Expectation) -> None:
        self._expect(key, expected)
        self._values.pop(key, None)

    def lock(self, name: str, milliseconds: int) -> HeldLock:
        if name in self._locks:
            problem = f'the lock "{name}" is held by the same test, so the wait would not end'
            raise SharedError("limit", problem)
        held = _LocalLock(self._locks, name)
        self._locks[name] = held
        return held

    def take(self, name: str, events: int, seconds: int, burst: int) -> None:
        if min(events, seconds, burst) < 1:
            raise SharedError("limit", "a rate has at least one event per period, and a burst of one")
        interval = seconds / events
        now = time.monotonic()
        following = max(self._rates.get(name, now), now)
        self._rates[name] = following + interval
        if run.sleep(max(0.0, following - now - interval * (burst - 1))):
            raise SharedError("interrupted")

    def _expect(self, key: str, expected: Expectation) -> None:
        current = self._values[key][1] if key in self._values else None
        wanted = expected.version if expected.state == "version" else None
        if expected.state != "any" and current != wanted:
            raise SharedError("conflict")


@dataclass(eq=False)
class _LocalLock:
    locks: dict[str, _LocalLock]
    name: str

    def renew(self, milliseconds: int) -> bool:
        return self.locks.get(self.name) is self

    def release(self) -> None:
        if self.locks.get(self.name) is self:
            del self.locks[self.name]


_memory: Memory = LocalMemory()


def set_memory(memory: Memory) -> Memory:
    """Replaces the memory, for tests: ``set_memory(LocalMemory())``. Returns the previous one."""
    global _memory  # pylint: disable=global-statement
    previous, _memory = _memory, memory
    return previous


def get(key: str) -> Value | None:
    """Returns the value of a key, or None."""
    found = _memory.get(key)
    return None if found is None else Value(json.loads(found[0]), found[1])


def put(key: str, value: Any, expected: Expectation = ANY) -> int | None:
    """Sets the value of a key that is in the expected state. Returns the new version, or None if the key is
    in another state."""
    content = json.dumps(value).encode("utf-8")
    try:
        return _memory.put(key, content, expected)
    except SharedError as error:
        if error.reason == "conflict":
            return None
        raise


def remove(key: str, expected: Expectation = ANY) -> bool:
    """Removes the value of a key that is in the expected state. Returns whether it was."""
    try:
        _memory.remove(key, expected)
    except SharedError as error:
        if error.reason == "conflict":
            return False
        raise
    return True


def once(key: str, create: Callable[[], Any], *, is_valid: Callable[[Any], bool] = lambda _: True) -> Any:
    """Returns the value of a key, which the first instance creates. The other instances wait meanwhile.

    The value is created again when ``is_valid`` returns False. If ``create`` raises an exception, the next
    instance tries it.
    """
    found = get(key)
    if found is not None and is_valid(found.value):
        return found.value
    with lock(f"once/{key}"):
        found = get(key)
        if found is not None and is_valid(found.value):
            return found.value
        value = create()
        put(key, value)
        return value


class Lock:
    """A lock that is held. The end of a ``with`` block releases it, and so does the end of the instance."""

    def __init__(self, held: HeldLock) -> None:
        self._held: HeldLock | None = held

    def renew(self, seconds: float) -> bool:
        """Extends the lease to a number of seconds from now. Returns False if the lease has ended, and
        another instance may hold the lock."""
        return self._held is not None and self._held.renew(round(seconds * 1000))

    def release(self) -> None:
        if self._held is not None:
            self._held.release()
            self._held = None

    def __enter__(self) -> Lock:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.release()


def lock(name: str, *, lease: float = _LEASE) -> Lock:
    """Waits for a lock. It is released at the end of a ``with`` block, or when its lease of some seconds
    ends."""
    return Lock(_memory.lock(name, round(lease * 1000)))


@dataclass(frozen=True)
class RateLimiter:
    """A rate that all instances together do not exceed: a number of events in a number of seconds, of which
    ``burst`` may occur at once after a pause. Limiters with one name share their events."""

    name: str
    events: int
    seconds: int = 1
    burst: int = 1

    def wait(self) -> None:
        """Waits until one more event may occur."""
        _memory.take(self.name, self.events, self.seconds, self.burst)
