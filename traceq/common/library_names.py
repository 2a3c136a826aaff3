"""Names of kernels, operators and calls, word by word: what of them anybody may read.

A prefix does not say that a library gave a name: what follows it is anybody's. So each word has to be one that libraries
use; of any other word stands something else in its place, and the rest of the name stays. Numbers have to be sizes:

    void at::native::vectorized_elementwise_kernel<4, ...>   the same
    acme_moonshine_gemm_128x64_tn                            name-1_name-2_gemm_128x64_tn
    ncclDevKernel_AllReduce_10.23.45.67                      ncclDevKernel_AllReduce_name-1
    _Z12johndoe_kernPf                                       _Z11name-1_kernPf
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterator
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
# As many different letters alone between digits are a hash or a token, but for shapes of instructions and tiles.
_MOST_SINGLE = 2
_SHAPE = re.compile(
    r"(?:[a-z]\d{0,2})?m\d{1,3}n\d{1,3}k\d{1,3}[a-z]*|t\dr\ds\d|w\d{1,2}a\d{1,2}g\d{1,4}", re.IGNORECASE
)
# A run of hexadecimal signs in which letters and digits alternate is a hash, whatever word it is glued to, unless it is
# made of types (bf16bf16f32) or of numbered arguments (0d1d2de).
_RUN = re.compile(r"[0-9a-f]{7,}", re.IGNORECASE)
_NO_HASH = re.compile(r"(?:b?f(?:4|8|16|32|64)|e\dm\d|c10|d\d{1,3})*f?|(?:\d{1,2}(?:de?|c))+\d{0,2}", re.IGNORECASE)
_ALTERNATES = re.compile(r"\d[a-f]|[a-f]\d", re.IGNORECASE)
_MANGLED = re.compile(r"_Z(?:N[rVKRO]*|L|S[a-z0-9]?_?)*(?=\d)")
# Digits that are not the length of a name: of a literal, a substitution, the size of an array, the number of a lambda.
_NO_LENGTH = re.compile(r"(?:L[a-z]n?|[STA]|Ul\w{1,20}E)\Z")
_DIGITS = re.compile(r"\d+")
_BEFORE = 24

# Digits of a number that may be a size.
_MOST_DIGITS = 6
# Addresses of devices and machines, hashes.
HEXADECIMAL = re.compile(
    r"(?=[0-9a-f_.:-]{0,40}\d)(?:(?:(?<![^\W_])|(?=\d))[0-9a-f]{2}(?:[_.:-][0-9a-f]{2}){3,}"
    r"|(?<![^\W_])[0-9a-f]{1,12}(?:(?:::?|[.-])[0-9a-f]{1,12}){2,}(?:_\d+)*)(?![^\W_])"
    r"|(?<![^\W_])(?!\d{1,2}d\d{1,2}d)(?=[0-9a-f]{0,40}\d[a-e]\d)[0-9a-f]{10,}(?![^\W_])",
    re.IGNORECASE,
)
# Numbers that stay where they have the shape of sizes: those, several joined, long ones.
_NUMBERS = re.compile(
    rf"{HEXADECIMAL.pattern}|\d+(?:x\d+){{3,}}|\d+(?:,\d+){{2,}}|\d{{1,4}}(?:, \d{{1,4}}){{3,}}(?![\d,])"
    rf"|\d{{3,}}\) \d{{3,}}|\d+(?:(?:[^\w,<>(){{}}\[\]]|_)+\d+)+|(?<![^\W_])(?<!\.)0\d{{2,}}"
    rf"|(?<=[^\W\d_])(?!161616(?!\d))\d{{{_MOST_DIGITS},}}"
    rf"|\d{{{_MOST_DIGITS + 1},}}",
    re.IGNORECASE,
)
# Tiles, warps and stages; the version of CCCL with the architectures that it was built for.
_SIZES = re.compile(r"(?!0\d)(?:\d{1,4}__?\d{1,4}|\d{1,3}_\d{1,3}_\d{1,3}|\d{6}(?:_(?:[3-9]|1[0-2])\d0)+)", re.ASCII)
# Four of these may be an address: they are sizes only if each is small or what tiles are made of.
_FOUR = re.compile(r"\d{1,3}(?:x\d{1,3}){3}|\d{1,4}(?:, ?\d{1,4}){2,}", re.ASCII)
_SMALL, _OF_TILES, _OF_ADDRESS = 32, 8, 4


def texts_in(folder: Traversable, suffixes: tuple[str, ...], without: Container[str] = ()) -> Iterator[str]:
    """Yield the text of each file below the folder with one of the suffixes; files and folders named in `without` are skipped."""
    for entry in folder.iterdir():
        if entry.name not in without and entry.is_dir():
            yield from texts_in(entry, suffixes, without)
        elif entry.name not in without and entry.name.endswith(suffixes):
            yield entry.read_text("utf-8")


@cache
def known_words() -> frozenset[str]:
    """Return the public words (lower case): those of words.txt, and of quoted patterns in traceq's own SQL."""
    texts = (text for room in ("analysis", "diagnosis") for text in texts_in(files("traceq") / room, (".sql",)))
    quoted = (literal for text in texts for literal in _QUOTED.findall(text))
    words = {part.lower() for literal in quoted for part in _PARTS.findall(literal)}
    own = {word.lower() for word in read_words("words.txt")}
    return frozenset(({word for word in words if len(word) >= _LEAST} | own) - _HOSTS)


@cache
def read_words(name: str) -> frozenset[str]:
    """Return the words in a list of traceq/sharing, e.g. "words.txt"."""
    return frozenset(files("traceq").joinpath(f"sharing/{name}").read_text("utf-8").split())


@cache
def operator_words() -> frozenset[str]:
    """Return the known words that may stand in names of operators."""
    return known_words() | read_words("operator_words.txt")


@cache
def library_words() -> frozenset[str]:
    """Return the known words in names of kernels, operators and calls (CUDA, HIP, NCCL, cuDNN, CUTLASS, PyTorch, Triton, ...)."""
    return operator_words() | read_words("library_words.txt")


@cache
def frame_words() -> frozenset[str]:
    """Return the known words in paths and functions of Python's libraries; .ci/frame_words.py makes the list."""
    return library_words() | read_words("frame_words.txt")


@lru_cache(maxsize=1 << 16)
def is_of_library(name: str) -> bool:
    """Return whether libraries use all words of the kernel's, operator's or call's name."""
    return replace_unknown_words(name, lambda _: "") == name


@lru_cache(maxsize=1 << 16)
def is_frame_of_library(name: str) -> bool:
    """Return whether libraries use all words of a Python frame: torch/nn/modules/module.py(1518): _call_impl."""
    return replace_unknown_in_frame(name, lambda _: "") == name


def replace_unknown_in_frame(name: str, stand_in: Callable[[str], str]) -> str:
    """Return the Python frame (path and function) with every word that no library uses replaced by `stand_in(word)`."""
    return _replace_words(name, stand_in, frame_words())


def replace_unknown_words(name: str, stand_in: Callable[[str], str]) -> str:
    """Return the kernel's, operator's or call's name with every word that no library uses replaced by `stand_in(word)`.

    Numbers that look like hashes or addresses are replaced, too. In mangled C++ names lengths of identifiers are
    adapted.
    """
    if (begin := _MANGLED.match(name)) is None:
        return _replace_words(name, stand_in, library_words())
    parts, at = [begin[0]], begin.end()
    while at < len(name):
        digits = _DIGITS.match(name, at)
        if digits and len(digits[0]) > _MOST_DIGITS:
            end = digits.end()
            parts.append(stand_in(digits[0]))
        elif digits is None or _NO_LENGTH.search(name, max(0, at - _BEFORE), at):
            end = digits.end() if digits else at + 1
            parts.append(name[at:end])
        else:
            # The name may have been cut short.
            end = digits.end() + int(digits[0])
            identifier = _replace_words(name[digits.end() : end], stand_in, library_words())
            is_whole = end <= len(name)
            parts.append(f"{len(identifier) if is_whole else digits[0]}{identifier}")
        at = end
    return "".join(parts)


def has_sizes_only(name: str) -> bool:
    """Return whether all long or joined numbers in the name look like sizes, not like hashes or addresses."""
    return all(map(_are_sizes, (number[0] for number in _NUMBERS.finditer(name))))


def _are_sizes(numbers: str) -> bool:
    """Return whether a long number, or several joined, look like sizes."""
    if _FOUR.fullmatch(numbers):
        found = re.findall(r"\d+", numbers)
        odd = sum(int(one) > _SMALL and int(one) % _OF_TILES > 0 for one in found)
        return odd <= (len(found) > _OF_ADDRESS)
    return _SIZES.fullmatch(numbers) is not None


def _replace_words(name: str, stand_in: Callable[[str], str], known: frozenset[str]) -> str:
    """Return the name with unknown words (lower case not in `known`), and numbers that do not look like sizes, replaced."""

    def words(text: str) -> str:
        return _SEGMENT.sub(lambda segment: _replace_segment(segment[0], stand_in, known), text)

    shown, at = [], 0
    for number in _NUMBERS.finditer(name):
        if not _are_sizes(number[0]):
            shown += [words(name[at : number.start()]), stand_in(number[0])]
            at = number.end()
    return "".join([*shown, words(name[at:])])


def _replace_segment(segment: str, stand_in: Callable[[str], str], known: frozenset[str]) -> str:
    """Return a run of letters and digits with its unknown words replaced; all of it if it looks like a hash."""
    if _is_hash(segment):
        return stand_in(segment)
    return _WORD.sub(lambda word: _replace_word(word[1], word[2], stand_in, known), segment)


def is_hexadecimal_hash(signs: str) -> bool:
    """Return whether letters and digits alternate in hexadecimal signs as in a hash, and not as types and arguments do."""
    return len(_ALTERNATES.findall(signs)) > 1 and not _NO_HASH.fullmatch(signs)


def _is_hash(segment: str) -> bool:
    """Return whether a run of letters and digits ends in or is a hash or token."""
    if any(map(is_hexadecimal_hash, _RUN.findall(segment))):
        return True
    singles = set(_SINGLE.findall(segment.lower())) - {"x"}
    return len(singles) > _MOST_SINGLE and not _SHAPE.fullmatch(segment)


def _replace_word(word: str, digits: str, stand_in: Callable[[str], str], known: frozenset[str]) -> str:
    """Return the word and the digits behind it, with unknown parts replaced; words in camel case (VecFunctor) are split."""

    def is_known(word: str) -> bool:
        return word.lower() in known or (word.isascii() and _LAYOUT.fullmatch(word) is not None)

    if is_known(word):
        return word + digits
    parts = _PARTS.findall(word)
    if "".join(parts) != word or not any(is_known(part) and len(part) >= _LEAST for part in parts):
        return word + digits if parts and all(map(is_known, parts)) else stand_in(word + digits)
    *first, last = parts
    shown = [part if is_known(part) else stand_in(part) for part in first]
    return "".join([*shown, last + digits if is_known(last) else stand_in(last + digits)])
