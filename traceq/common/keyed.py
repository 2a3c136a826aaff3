"""Keyed hashes that stand for what may be secret: nobody without the key can try words out."""

from __future__ import annotations

import base64
import fcntl
import hmac
import secrets
import string
from collections.abc import Iterable
from functools import cache

from traceq.common.cache_folder import cache_path, is_cache_wanted, prepare_cache


def hashed(program: str) -> str | None:
    """Return twelve hexadecimal digits that stand for the program's name, made with this user's secret key.

    None when no key can be stored.
    """
    key = _key()
    return None if key is None else hmac.digest(key, program.encode(), "sha256").hex()[:12]


@cache
def _key() -> bytes | None:
    """Return the 32 random bytes stored in the user's cache, made if missing; None if the cache is off or unusable."""
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
    """Return the user's stored key, else a random one for this process."""
    return _key() or secrets.token_bytes(32)


def output_key(texts: Iterable[str]) -> bytes:
    """Return a key derived from `texts` and the user's secret: the same for equal texts only."""
    return hmac.digest(_secret(), "\0".join(texts).encode("utf-8", "surrogatepass"), "sha256")


# Letters of a pseudonym: 26^13 are 61 bits, so that of 100,000 names hardly ever two share one.
_LETTERS = 13
# Signs of a short one: 32^12 are 60 bits.
_SIGNS = 12


class Pseudonyms:
    """Pseudonyms for names in one output, derived from a key: the same text always gets the same one."""

    def __init__(self, key: bytes) -> None:
        self._key = key

    def word(self, text: str) -> str:
        """Return a pseudonym of fourteen letters, which can stand inside a longer name."""
        value, letters = int.from_bytes(self._digest(text)), ""
        for _ in range(_LETTERS):
            value, letter = divmod(value, len(string.ascii_lowercase))
            letters += string.ascii_lowercase[letter]
        return "n" + letters

    def short_word(self, text: str) -> str:
        """Return a pseudonym of twelve letters and digits (a-z, 2-7), sixty bits, which stands as a word of its own."""
        return base64.b32encode(self._digest(text))[:_SIGNS].decode().lower()

    def _digest(self, text: str) -> bytes:
        """Return 32 bytes derived from the text and the key."""
        return hmac.digest(self._key, text.encode("utf-8", "surrogatepass"), "sha256")
