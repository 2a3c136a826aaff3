"""Hashes that stand for what may be secret: with a key of this user, so that nobody else can try words out."""

from __future__ import annotations

import fcntl
import hmac
import secrets
from functools import cache

from traceq.common.cache_folder import folder, is_wanted, prepare


def hashed(program: str) -> str | None:
    """What stands for the name of a program: its hash with a key of this user; None where no key can be kept."""
    key = _key()
    return None if key is None else hmac.digest(key, program.encode(), "sha256").hex()[:12]


@cache
def _key() -> bytes | None:
    """32 random bytes that stay in the cache of the user."""
    if not is_wanted():
        return None
    kept = folder() / "program.key"
    try:
        prepare(folder())
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
