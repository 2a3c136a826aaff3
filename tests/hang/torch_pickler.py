"""Pickles written as PyTorch's C++ does: texts are numbered, dicts and lists are not, a frame is written out once."""

from __future__ import annotations

import struct
from typing import Any


class Frame(dict[str, Any]):
    """A frame of a stack: the pickler refers to it after its first use, as to a text."""

    def __hash__(self) -> int:  # type: ignore[override]
        """Return a hash by identity."""
        return id(self)

    def __eq__(self, other: object) -> bool:
        """Return whether both are the same object."""
        return self is other


class TorchPickler:
    """Writer of one object to `out`."""

    def __init__(self) -> None:
        self.out = bytearray(b"\x80\x02")
        self._numbers: dict[Any, int] = {}

    def dump(self, value: Any) -> bytes:
        """Return the pickle of the object."""
        self.write(value)
        self._put(object())
        self.out += b"."
        return bytes(self.out)

    def write(self, value: Any) -> None:
        """Write one value."""
        if isinstance(value, (str, Frame)) and value in self._numbers:
            number = self._numbers[value]
            self.out += b"h" + bytes([number]) if number < 256 else b"j" + struct.pack("<I", number)
        elif isinstance(value, str):
            content = value.encode()
            self.out += b"X" + struct.pack("<I", len(content)) + content
            self._put(value)
        elif value is None or isinstance(value, (bool, int, float)):
            self.out += self._encode(value)
        elif isinstance(value, dict):
            self.out += b"}("
            for key, item in value.items():
                self.write(key)
                self.write(item)
            self.out += b"u"
            if isinstance(value, Frame):
                self._put(value)
        elif isinstance(value, list):
            self.out += b"]("
            for item in value:
                self.write(item)
            self.out += b"e"
        else:
            for item in value:
                self.write(item)
            self.out += {2: b"\x86"}[len(value)]

    @staticmethod
    def _encode(value: float | None) -> bytes:
        if value is None or isinstance(value, bool):
            return {None: b"N", True: b"\x88", False: b"\x89"}[value]
        if isinstance(value, float):
            return b"G" + struct.pack(">d", value)
        if 0 <= value < 256:
            return b"K" + bytes([value])
        if 0 <= value < 65536:
            return b"M" + struct.pack("<H", value)
        if -(1 << 31) <= value < 1 << 31:
            return b"J" + struct.pack("<i", value)
        return b"\x8a\x08" + struct.pack("<q", value)

    def _put(self, value: Any) -> None:
        number = len(self._numbers)
        self._numbers[value] = number
        self.out += b"q" + bytes([number]) if number < 256 else b"r" + struct.pack("<I", number)
