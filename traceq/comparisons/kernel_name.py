"""What of a kernel's name is the kernel, and what is how it was compiled."""

from __future__ import annotations

import re
from functools import lru_cache

_CAST = re.compile(r"\((?:unsigned )?(?:int|long|long long|short|char|bool)\)(?=-?\d|true|false)")
_RETURNS = re.compile(r"^(?:void|static|__global__)\s+")
_UNNAMED = re.compile(r"\(anonymous namespace\)|<unnamed>|\{lambda[^{}]*\}|\[lambda[^\[\]]*\]|#\d+|\(instance \d+\)")
_SPACE = re.compile(r"\s+")
_HASH = re.compile(r"_?(?:0x)?(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{8,}(?=_|$)")
_TRITON_VARIANT = re.compile(r"_(?:\d+(?:d|c|e|de|dc)?)+(?:_\d+)?$")
_NUMBER = re.compile(r"\d+")
_TILE = re.compile(r"_?\d+(?:x\d+)+")


@lru_cache(maxsize=8192)
def canonical(name: str) -> str:
    """The name with what nsys and PyTorch write differently taken out: return type, casts of template arguments, blanks."""
    bare = _CAST.sub("", _RETURNS.sub("", name.strip()))
    return _SPACE.sub("", bare)


@lru_cache(maxsize=8192)
def family_name(name: str) -> str:
    """The name without template arguments, parameters, hashes, tile sizes and generated numbers."""
    bare = _RETURNS.sub("", _UNNAMED.sub("", name.strip()))
    bare = _without_brackets(bare)
    bare = _HASH.sub("", bare)
    bare = _TILE.sub("", bare)
    bare = _TRITON_VARIANT.sub("", bare)
    bare = _SPACE.sub("", _NUMBER.sub("", bare)).strip("_:")
    return bare or canonical(name)


def _without_brackets(text: str) -> str:
    """The text without what stands in <> or (), however deep; from an unbalanced bracket on nothing is left out."""
    kept: list[str] = []
    depth = 0
    for letter in text:
        if letter in "<(":
            depth += 1
        elif letter in ">)" and depth:
            depth -= 1
        elif not depth:
            kept.append(letter)
    return "".join(kept)
