"""The MessagePack format, without knowledge of types: a reader and a writer of single items."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Extension:
    """An extension item."""

    code: int
    content: bytes


@dataclass(frozen=True)
class ArrayHeader:
    """The beginning of an array."""

    length: int


@dataclass(frozen=True)
class MapHeader:
    """The beginning of a map."""

    length: int


class MessageWriter:
    """Writes MessagePack items into a buffer."""

    def __init__(self) -> None:
        self._buffer = bytearray()

    def finish(self) -> bytes:
        """Returns the items that were written."""
        return bytes(self._buffer)

    def nil(self) -> MessageWriter:
        self._buffer.append(0xC0)
        return self

    def bool(self, value: bool) -> MessageWriter:
        self._buffer.append(0xC3 if value else 0xC2)
        return self

    def integer(self, value: int) -> MessageWriter:
        """Writes an integer of 64 bits in the shortest form."""
        if 0 <= value < 0x80:
            self._pack(">B", value)
        elif value >= 0:
            marker, form = next(
                (marker, form)
                for marker, form, limit in ((0xCC, "B", 8), (0xCD, "H", 16), (0xCE, "I", 32), (0xCF, "Q", 64))
                if value < 1 << limit
            )
            self._pack(f">B{form}", marker, value)
        elif value >= -0x20:
            self._pack(">b", value)
        else:
            marker, form = next(
                (marker, form)
                for marker, form, limit in ((0xD0, "b", 7), (0xD1, "h", 15), (0xD2, "i", 31), (0xD3, "q", 63))
                if value >= -(1 << limit)
            )
            self._pack(f">B{form}", marker, value)
        return self

    def float(self, value: float) -> MessageWriter:
        self._pack(">Bd", 0xCB, value)
        return self

    def string(self, text: str) -> MessageWriter:
        content = text.encode("utf-8", "replace")
        if len(content) < 32:
            self._buffer.append(0xA0 | len(content))
        else:
            self._sized(len(content), (0xD9, 0xDA, 0xDB))
        self._buffer += content
        return self

    def binary(self, content: bytes) -> MessageWriter:
        self._sized(len(content), (0xC4, 0xC5, 0xC6))
        self._buffer += content
        return self

    def array_header(self, length: int) -> MessageWriter:
        return self._collection(length, 0x90, 0xDC)

    def map_header(self, length: int) -> MessageWriter:
        return self._collection(length, 0x80, 0xDE)

    def extension(self, code: int, content: bytes) -> MessageWriter:
        if len(content) in (1, 2, 4, 8, 16):
            self._buffer.append(0xD4 + len(content).bit_length() - 1)
        else:
            self._sized(len(content), (0xC7, 0xC8, 0xC9))
        self._pack(">b", code)
        self._buffer += content
        return self

    def _collection(self, length: int, fixed: int, marker: int) -> MessageWriter:
        if length < 16:
            self._buffer.append(fixed | length)
        elif length < 0x10000:
            self._pack(">BH", marker, length)
        else:
            self._pack(">BI", marker + 1, length)
        return self

    def _sized(self, length: int, markers: tuple[int, int, int]) -> None:
        if length < 0x100:
            self._pack(">BB", markers[0], length)
        elif length < 0x10000:
            self._pack(">BH", markers[1], length)
        else:
            self._pack(">BI", markers[2], length)

    def _pack(self, form: str, *values: Any) -> None:
        self._buffer += struct.pack(form, *values)


_FIXED = {
    0xCA: ">f", 0xCB: ">d",
    0xCC: ">B", 0xCD: ">H", 0xCE: ">I", 0xCF: ">Q",
    0xD0: ">b", 0xD1: ">h", 0xD2: ">i", 0xD3: ">q",
}  # fmt: skip
_LENGTHS = (">B", ">H", ">I")


class MessageReader:
    """Reads MessagePack items. An item is ``None``, a ``bool``, ``int``, ``float``, ``str``, ``bytes``,
    an ``Extension``, an ``ArrayHeader`` or a ``MapHeader``."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        self._position = 0

    @property
    def ended(self) -> bool:
        """Whether all bytes have been read."""
        return self._position == len(self._content)

    def next(self) -> Any:
        marker = self._unpack(">B")
        if marker < 0x80:
            return marker
        if marker >= 0xE0:
            return marker - 0x100
        if marker < 0x90:
            return self._map(marker & 0x0F)
        if marker < 0xA0:
            return self._array(marker & 0x0F)
        if marker < 0xC0:
            return self._string(marker & 0x1F)
        if marker == 0xC0:
            return None
        if marker in (0xC2, 0xC3):
            return marker == 0xC3
        if 0xC4 <= marker <= 0xC6:
            return self._take(self._unpack(_LENGTHS[marker - 0xC4]))
        if 0xC7 <= marker <= 0xC9:
            return self._extension(self._unpack(_LENGTHS[marker - 0xC7]))
        if marker in _FIXED:
            return self._unpack(_FIXED[marker])
        if 0xD4 <= marker <= 0xD8:
            return self._extension(1 << (marker - 0xD4))
        if 0xD9 <= marker <= 0xDB:
            return self._string(self._unpack(_LENGTHS[marker - 0xD9]))
        if marker in (0xDC, 0xDD):
            return self._array(self._unpack(_LENGTHS[marker - 0xDB]))
        if marker in (0xDE, 0xDF):
            return self._map(self._unpack(_LENGTHS[marker - 0xDD]))
        raise ValueError(f"byte {marker:#x} does not start a MessagePack item")

    def _unpack(self, form: str) -> Any:
        return struct.unpack(form, self._take(struct.calcsize(form)))[0]

    def _string(self, length: int) -> str:
        return self._take(length).decode("utf-8")

    def _extension(self, length: int) -> Extension:
        return Extension(self._unpack(">b"), self._take(length))

    # Each element has at least one byte, and each entry of a map two, so memory is bounded by the input.

    def _array(self, length: int) -> ArrayHeader:
        self._require(length)
        return ArrayHeader(length)

    def _map(self, length: int) -> MapHeader:
        self._require(2 * length)
        return MapHeader(length)

    def _take(self, length: int) -> bytes:
        self._require(length)
        start = self._position
        self._position += length
        return self._content[start : self._position]

    def _require(self, length: int) -> None:
        if length > len(self._content) - self._position:
            raise ValueError("the MessagePack data is truncated")
