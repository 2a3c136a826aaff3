"""Keyed hashes that stand for what may be secret: nobody without the key can try words out."""

from __future__ import annotations

import base64
import fcntl
import hmac
import re
import secrets
from collections.abc import Iterable
from functools import cache

from traceq.common.cache_folder import cache_path, is_cache_wanted, prepare_cache


def hashed(program: str) -> str | None:
    """Return the hash of a program's name with a key of this user; None when no key can be kept."""
    key = _key()
    return None if key is None else hmac.digest(key, program.encode(), "sha256").hex()[:12]


@cache
def _key() -> bytes | None:
    """Read or make the 32 random bytes that stay in the cache of the user."""
    if not is_cache_wanted():
        return None
    kept = cache_path() / "program.key"
    try:
        prepare_cache(cache_path())
        with kept.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            file.seek(0)
            key = file.read()
            if not key:
                key = secrets.token_bytes(32)
                file.write(key)
        kept.chmod(0o600)
    except OSError:
        return None
    return key


@cache
def _secret() -> bytes:
    """Return the key of this user, else one of this process."""
    return _key() or secrets.token_bytes(32)


def output_key(texts: Iterable[str]) -> bytes:
    """Return the key for an output made of `texts`: the same for equal texts, another one for any others."""
    return hmac.digest(_secret(), "\0".join(texts).encode("utf-8", "surrogatepass"), "sha256")


class Pseudonyms:
    """Pseudonyms for the names of one output: the same one for the same text, made by one key."""

    def __init__(self, key: bytes) -> None:
        self._key = key
        self._numbers: dict[str, str] = {}
        self._taken: set[str] = set()

    def word(self, text: str) -> str:
        """Return a word of eight letters, which may stand within a name of a trace."""
        letters = base64.b32encode(self._digest(text))[:7].decode().lower()
        return "n" + re.sub("[0-9]", "x", letters)

    def number(self, text: str) -> str:
        """Return six digits, more where another text of the output has these."""
        if text not in self._numbers:
            digits, value = 6, int.from_bytes(self._digest(text))
            while (number := f"{value % 10**digits:0{digits}}") in self._taken:
                digits += 1
            self._taken.add(number)
            self._numbers[text] = number
        return self._numbers[text]

    def _digest(self, text: str) -> bytes:
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")
