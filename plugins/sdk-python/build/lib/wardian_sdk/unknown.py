"""Values that are not known before an apply."""

from __future__ import annotations

from .msgpack import MessageWriter


class Unknown:
    """A value that is not known before an apply. ``UNKNOWN`` is the value about which nothing is known;
    ``UNKNOWN.refined(not_null=True, prefix="i-")`` states what is known already."""

    __slots__ = ("refinement",)

    def __init__(self, refinement: bytes | None = None) -> None:
        self.refinement = refinement

    def refined(self, *, not_null: bool = False, prefix: str = "") -> Unknown:
        """Returns an unknown value with refinements. A prefix may have 255 bytes."""
        count = not_null + bool(prefix)
        if count == 0:
            return UNKNOWN
        writer = MessageWriter().map_header(count)
        if not_null:
            writer.integer(1).bool(False)
        if prefix:
            writer.integer(2).string(prefix)
        return Unknown(writer.finish())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Unknown)

    def __hash__(self) -> int:
        return hash(Unknown)

    def __repr__(self) -> str:
        return "(known after apply)"


UNKNOWN = Unknown()


def is_unknown(value: object) -> bool:
    """Returns whether a value is unknown. Its parts may be unknown even if it is known."""
    return isinstance(value, Unknown)
