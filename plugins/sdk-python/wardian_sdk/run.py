"""The interruption of a run, for example by Ctrl-C."""

from __future__ import annotations

import math
import time
from typing import Protocol


class Run(Protocol):
    """The run to which calls belong. In a component, it is the host's."""

    def interrupted(self) -> bool: ...

    def sleep(self, milliseconds: int) -> bool: ...


class _Endless:
    def interrupted(self) -> bool:
        return False

    def sleep(self, milliseconds: int) -> bool:
        time.sleep(milliseconds / 1000)
        return False


_run: Run = _Endless()


def set_run(run: Run) -> Run:
    """Replaces the run, for tests. Returns the previous one."""
    global _run  # pylint: disable=global-statement
    previous, _run = _run, run
    return previous


def interrupted() -> bool:
    """Returns whether the run is interrupted. A call should then end soon, and return what it has
    reached."""
    return _run.interrupted()


def sleep(seconds: float) -> bool:
    """Waits, at most until the run is interrupted. Returns whether it is interrupted."""
    # Rounded up: a wait is never shorter than requested.
    return _run.sleep(max(0, math.ceil(seconds * 1000)))
