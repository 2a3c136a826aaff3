"""Names of kernels, operators and calls, word by word: what of them anybody may read.

A prefix does not say that a library gave a name: what follows it is anybody's. So each word has to be one that libraries
use; of any other word stands something else in its place, and the rest of the name stays:

    void at::native::vectorized_elementwise_kernel<4, ...>   the same
    acme_moonshine_gemm_128x64_tn                            name-1_name-2_gemm_128x64_tn
    _Z12johndoe_kernPf                                       _Z11name-1_kernPf
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache, lru_cache
from importlib.resources import files
from importlib.resources.abc import Traversable

# What machines are called after.
_HOSTS = frozenset(
    (
        *("gpu", "cpu", "node", "nodes", "host", "hosts", "server", "cluster", "machine"),
        *("pod", "login", "head", "user", "users", "team", "org", "com", "net"),
        *("corp", "local", "internal", "cloud", "edu", "gov"),
    )
)
_QUOTED = re.compile(r"'((?:[^'\n]|'')*)'")
# Letters of a word that tells something within another.
_LEAST = 3

_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_SEGMENT = re.compile(r"[^\W_]+")
_WORD = re.compile(r"([^\W\d_]+)(\d*)")
# Layouts of matrices, and lists of numbered arguments.
_LAYOUT = re.compile(r"[tn]{2,4}|[nchwdkrs]{4,8}|[a-z]", re.IGNORECASE)
_SINGLE = re.compile(r"(?<![^\W\d_])[^\W\d_](?![^\W\d_])")
# As many different letters alone between digits are a hash or a token.
_MOST_SINGLE = 3
_MANGLED = re.compile(r"_Z(?:N[rVKRO]*|L|S[a-z0-9]?_?)*(?=\d)")
# Digits that are not the length of a name: of a literal, a substitution, the size of an array, the number of a lambda.
_NO_LENGTH = re.compile(r"(?:L[a-z]n?|[STA]|Ul\w{1,20}E)\Z")
_DIGITS = re.compile(r"\d+")
_BEFORE = 24


@cache
def known_words() -> frozenset[str]:
    """Words, in lower case, that stay: those of words.txt, and those in the patterns by which traceq tells what names mean."""

    def texts(folder: Traversable) -> list[str]:
        found = []
        for each in folder.iterdir():
            if each.is_dir():
                found += texts(each)
            elif each.name.endswith(".sql"):
                found.append(each.read_text("utf-8"))
        return found

    root = files("traceq")
    quoted = (
        literal
        for room in ("analysis", "diagnosis")
        for text in texts(root / room)
        for literal in _QUOTED.findall(text)
    )
    words = {part.lower() for literal in quoted for part in _PARTS.findall(literal)}
    own = {word.lower() for word in word_list("words.txt")}
    return frozenset(({word for word in words if len(word) >= _LEAST} | own) - _HOSTS)


def word_list(name: str) -> frozenset[str]:
    """The words of a list of traceq/sharing."""
    return frozenset(files("traceq").joinpath(f"sharing/{name}").read_text("utf-8").split())


@cache
def operator_words() -> frozenset[str]:
    """Words of which names of operators are made, beside those of annotations."""
    return known_words() | word_list("operator_words.txt")


@cache
def library_words() -> frozenset[str]:
    """Words of kernels, operators and calls: of CUDA, HIP, NCCL, cuBLAS, cuDNN, CUTLASS, PyTorch and Triton."""
    return operator_words() | word_list("library_words.txt")


@lru_cache(maxsize=1 << 16)
def is_of_library(name: str) -> bool:
    """Whether all words of the name are known."""
    return replaced(name, lambda _: "") == name


def replaced(name: str, stand_in: Callable[[str], str]) -> str:
    """The name with a stand-in for every word that no library uses."""
    if (begin := _MANGLED.match(name)) is None:
        return _by_words(name, stand_in)
    parts, at = [begin[0]], begin.end()
    while at < len(name):
        digits = _DIGITS.match(name, at)
        if digits is None or _NO_LENGTH.search(name, max(0, at - _BEFORE), at):
            end = digits.end() if digits else at + 1
            parts.append(name[at:end])
        else:
            # The name may have been cut short.
            end = digits.end() + int(digits[0][:6])
            identifier = _by_words(name[digits.end() : end], stand_in)
            is_whole = end <= len(name)
            parts.append(f"{len(identifier) if is_whole else digits[0]}{identifier}")
        at = end
    return "".join(parts)


def _by_words(name: str, stand_in: Callable[[str], str]) -> str:
    return _SEGMENT.sub(lambda segment: _segment(segment[0], stand_in), name)


def _segment(segment: str, stand_in: Callable[[str], str]) -> str:
    if len(set(_SINGLE.findall(segment.lower()))) > _MOST_SINGLE:
        return stand_in(segment)
    return _WORD.sub(lambda word: _word(word[1], word[2], stand_in), segment)


def _word(word: str, digits: str, stand_in: Callable[[str], str]) -> str:
    """A word with the digits behind it, or several words written as one: VecFunctor."""
    if _is_known(word):
        return word + digits
    parts = _PARTS.findall(word)
    if "".join(parts) != word or not any(_is_known(part) and len(part) >= _LEAST for part in parts):
        return word + digits if parts and all(map(_is_known, parts)) else stand_in(word + digits)
    *first, last = parts
    shown = [part if _is_known(part) else stand_in(part) for part in first]
    return "".join([*shown, last + digits if _is_known(last) else stand_in(last + digits)])


def _is_known(word: str) -> bool:
    return word.lower() in library_words() or (word.isascii() and _LAYOUT.fullmatch(word) is not None)
