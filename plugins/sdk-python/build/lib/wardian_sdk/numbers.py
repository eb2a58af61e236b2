"""Numbers of the language have up to 512 bits: they are ``int``, ``float`` if that is exact in
decimal digits, and otherwise ``Decimal``."""

from __future__ import annotations

import math
import re
from decimal import Decimal

Number = int | float | Decimal

_DECIMAL = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d{1,4})?", re.ASCII)
_MAX_DIGITS = 4096


def number_from_text(text: str) -> Number:
    """Returns the number that decimal text denotes."""
    if len(text) > _MAX_DIGITS or not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is not a number")
    exact = Decimal(text)
    if exact == exact.to_integral_value():
        return int(exact)
    approximate = float(exact)
    return approximate if Decimal(repr(approximate)) == exact else exact


def text_of_number(value: Number) -> str:
    """Returns the decimal digits of a number, without an exponent."""
    if isinstance(value, int):
        return str(value)
    digits = format(Decimal(repr(value)) if isinstance(value, float) else value, "f")
    return digits.rstrip("0").rstrip(".") if "." in digits else digits


def is_exact_float(value: float) -> bool:
    """Returns whether a float is equal to its shortest decimal digits."""
    return Decimal(value) == Decimal(repr(value))


def is_number(value: object) -> bool:
    """Returns whether the value is a number of the language."""
    return isinstance(value, (int, float, Decimal)) and not isinstance(value, bool)


def same_number(left: Number, right: Number) -> bool:
    """Compares two numbers by their decimal digits."""
    if any(isinstance(one, float) and not math.isfinite(one) for one in (left, right)):
        return left == right
    return text_of_number(left) == text_of_number(right)
