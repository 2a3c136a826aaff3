"""Names of GPU kernels as tools write them: mangled or not, with namespaces and arguments or without, whole or cut."""

from __future__ import annotations

import re
from functools import cache

# The beginning of a longer name finds the kernel as well.
LONGEST_WORD = 100
# Those of templates of templates have thousands of characters. What is behind these is not looked at.
_LONGEST_NAME = 1 << 13
_WORD = re.compile(r"[A-Za-z_]\w*")
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|<?unnamed>::|_GLOBAL__N_\w*::")
_SUFFIX = re.compile(r"(\[clone [^\]]*\]|\(\.kd\)|\.kd)$")
_SCOPE = re.compile(r"[A-Za-z_]\w*::")
_CAST = re.compile(r"\([\w:<> ]*\)(?=-?\d)")
_NUMBER = re.compile(r"(?<![\w.])(\d+)[uUlL]+\b")
_TRUTH = {"true": "1", "false": "0"}
# Of a mangled name: _Z, N with qualifiers, then names after their lengths.
_MANGLED = re.compile(r"_Z(?:N[KVrRO]*)?")
_LENGTH = re.compile(r"L?(\d{1,4})")


def kernel_word(name: str) -> str | None:
    """Return the kernel's name without namespaces, templates and arguments, as profilers filter by it, cut at 100 characters.

    None if the rest is no identifier.
    """
    word = function_of_kernel(name)
    return word if word is None else word[:LONGEST_WORD]


def function_of_kernel(name: str) -> str | None:
    """Return the kernel's name without namespaces, templates and arguments; None if the rest is no identifier."""
    bare = _bare_name(name)
    head = _without_brackets(bare).partition("(")[0]
    word = head.split()[-1].split("::")[-1] if head.split() else ""
    if (begin := _MANGLED.match(word)) is not None:
        word = _last_name(word, begin.end()) or word
    return word if _WORD.fullmatch(word) else None


def _bare_name(name: str) -> str:
    """Return the name without anonymous namespaces and what compilers append."""
    return _ANONYMOUS.sub("", _SUFFIX.sub("", name[:_LONGEST_NAME].rstrip()).rstrip())


def _without_brackets(name: str) -> str:
    """Return the name without template arguments in <>; it ends at a < that is never closed."""
    kept: list[str] = []
    begins: list[int] = []
    for letter in name:
        if letter == "<":
            begins.append(len(kept))
        if letter == ">" and begins:
            del kept[begins.pop() :]
        else:
            kept.append(letter)
    return "".join(kept[: begins[0]] if begins else kept)


def _last_name(mangled: str, at: int) -> str | None:
    """Return the last of the names that follow one another from the place `at` of a mangled name; None without one."""
    last = None
    while (length := _LENGTH.match(mangled, at)) is not None:
        at = length.end() + int(length[1])
        last = mangled[length.end() : at]
    return last


@cache
def template_of_kernel(name: str) -> str | None:
    """Return the kernel's template arguments in a spelling that tools share, as far as the name goes; None without any.

    Without namespaces, blanks and casts of numbers, and truth as 1 and 0. The closing > is missing from a name that was cut.
    """
    bare = _bare_name(name)
    word = function_of_kernel(name)
    if word is None or _MANGLED.match(bare):
        return None
    begin = bare.find(f"{word}<")
    if begin < 0:
        return None
    text = bare[begin + len(word) :]
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "<") - (letter == ">" and text[place - 1] != "-")
        if depth == 0:
            text = text[: place + 1]
            break
    text = _SCOPE.sub("", _CAST.sub("", text))
    text = re.sub(r"\b(true|false)\b", lambda found: _TRUTH[found[0]], text)
    return _NUMBER.sub(r"\1", text).replace(" ", "")


def are_same_kernel(one: str, other: str) -> bool:
    """Return whether two names can be the same kernel's: the same function, and the same template as far as both tell."""
    if one == other:
        return True
    function = function_of_kernel(one)
    if function is None or function != function_of_kernel(other):
        return False
    mine, theirs = template_of_kernel(one), template_of_kernel(other)
    if mine is None or theirs is None or mine == theirs:
        return True
    short, long = sorted((mine, theirs), key=len)
    return not _is_closed(short) and long.startswith(short)


def _is_closed(template: str) -> bool:
    return template.count("<") == template.replace("->", "").count(">")
