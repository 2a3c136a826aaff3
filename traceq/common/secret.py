"""Credentials that stand in an address: no text that people read or that is kept may show them."""

from __future__ import annotations

import re

# user:password@ after ://, in which keys of AWS may have slashes; a number before a slash is a port.
_USER = re.compile(r"(?<=://)[^\s/@:]*:(?!\d+/)[^\s@]*@")
# What an address asks for: signatures and tokens.
_QUERY = re.compile(r"(://[^\s?'\"]*)\?[^\s'\"]*=[^\s'\"]*")
_NAMED = re.compile(r"(?i)\b((?:\w+[-_])*(?:signature|sig|token|secret|password|credential|key)=)[^\s&,;)'\"]+")


def mask_secrets(text: str) -> str:
    """Return the text with passwords, tokens and signatures in its addresses removed or masked."""
    return _NAMED.sub(r"\1***", _QUERY.sub(r"\1", _USER.sub("", text)))
