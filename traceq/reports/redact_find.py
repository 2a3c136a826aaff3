"""Takes a text apart into what may be shown and what gives away where a trace was made."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from traceq.reports.redact_patterns import ANY, HINT, IN_NAME, NAMING, SECRETIVE
from traceq.reports.redact_words import (
    ACCOUNTS,
    HOMES,
    HOSTS_OF_MANY,
    NO_HOST,
    OWN_OPTIONS,
    PUBLIC_HOSTS,
    PUBLIC_OWNERS,
    PUBLIC_PACKAGES,
    PUBLIC_VARIABLES,
    SURE_HOMES,
    SYSTEM,
)


class Secret(NamedTuple):
    """A word to be replaced; `kind` is dir, host, user, value or token."""

    kind: str
    word: str


Piece = str | Secret

_LEAST_LETTERS = 3
_LEAST_OF_VALUE = 6
_MOST_OF_WORD = 200
_NEAR = 2000
_NUMBER = re.compile(r"\d+")
_QUOTES = "\"'`"
_BYTE, _LOOPBACK = 255, 127
_COLONS = 7
_DOMAIN = 2  # labels, as in example.com

# By chance 62 % of letters and digits are of another kind than the one before, and 3 % of base64 are neither.
_CHANGES, _OTHERS = 0.45, 1 / 16
_OF_EACH_KIND, _DIFFERENT = 3, 4
_HARMLESS = re.compile(
    r"(?i:[\"'`]*|[-+]?\d[\d.,:x+-]{0,8}(?:e[-+]?\d{1,3})?|true|false|none|null|auto|on|off|yes|no|(?:bf|fp|float|int|uint|tf)\d+)"
)
_SETTING_OF_LIBRARY = re.compile(r"[\w.:,+-]{1,80}")
_IS_SECRETIVE = re.compile(rf"(?i:(?:^|[_.-]|\b){SECRETIVE}$|(?:^|_)(?:key|pass)$)")
_COMMAND = re.compile(
    r"""(?:^|[\s/\\'"`(])(?:python[\d.]*|torchrun|deepspeed|accelerate|mpirun|mpiexec|srun|sbatch|bash|sh|zsh|java|node|uv|[\w-]+\.(?:py|sh))\s"""
)
_NOWHERE = re.compile(r"\.{1,2}|~|[A-Za-z]:")
_SITE = re.compile(r"(?:site|dist)-packages$")
# Names of symbols and of traceq's findings have an @ as well.
_NO_HOST = re.compile(r"(?i:rank\d*|plt|got|v?\d[\d.]*|glibc\w*|glibcxx\w*|cxxabi\w*|gcc_\w*|openssl_\w*)(?:[\d._]*)")
# Names of devices and types, which a host may have as well.
_COMMON = re.compile(
    r"(?i:(?:gpu|cpu|cuda|dev|node|host)[-_]?\d?|(?:rank|step|stream|worker|dp|tp|pp|ep|sm|fp|bf|int|tf|mi|[ahvlbtp]|gb|gh|rtx|gtx)[-_]?\d*\w?)"
)
_STAND_IN = re.compile(r"(?:dir|host|user|value|token|trace|run)[\d-].*", re.DOTALL)
_HOSTLY = re.compile(
    r"(?i:(?=[a-z0-9-]*\d)[a-z0-9-]*[a-z][a-z0-9-]*|[a-z0-9]+-[a-z0-9-]+|(?:login|head|node|host|srv|server|cluster|compute|gpu|nas|nfs)[a-z]*)"
)
_SURELY = re.compile(r"(?i:\.(?:com|org|edu|gov|mil|intra|intranet|corp|localdomain|arpa|lan)$)")
_OF_A_HOUSE = re.compile(r"(?i:\.(?:local|internal|cluster|private)$)")
_GRAPH_OF_INDUCTOR = re.compile(r"f[a-z2-7]{51}")
_HEX = re.compile(r"[0-9A-Fa-f]{32,}")
_ACCOUNT_IN_NAME = re.compile(r"torchinductor_([\w.-]{3,})")


@dataclass
class Found:
    """What was found in the texts so far, apart from the pieces themselves: words that are to be replaced everywhere.

    `ordinary` are words (in lower case) that traceq itself uses: as the name of a user or a host they are replaced where
    the pattern is, and nowhere else. `hashes` are the traces' own.
    """

    ordinary: frozenset[str] = frozenset()
    hashes: frozenset[str] = frozenset()
    words: dict[str, Secret] = field(default_factory=dict)

    def learn(self, secret: Secret) -> Secret:
        """The secret, whose word gives itself away elsewhere too unless it is an ordinary one."""
        word = secret.word.lower()
        is_ordinary = word in self.ordinary or word in ACCOUNTS or bool(_STAND_IN.fullmatch(word))
        is_ordinary |= secret.kind == "host" and bool(_COMMON.fullmatch(word))
        if sum(map(str.isalpha, word)) >= _LEAST_LETTERS and len(word) <= _MOST_OF_WORD and not is_ordinary:
            self.words.setdefault(word, secret)
            # as rules write names that differ in numbers only
            self.words.setdefault(_NUMBER.sub("#", word), secret)
        return secret

    def pieces(self, text: str) -> list[Piece]:
        """`text` in pieces, in their order."""
        return list(self._pieces(text, ANY)) if HINT.search(text) else [text]

    def in_name(self, name: str) -> list[Piece]:
        """The last component of a path in pieces."""
        return list(self._pieces(name, IN_NAME)) if HINT.search(name) else [name]

    def _pieces(self, text: str, what: re.Pattern[str]) -> Iterator[Piece]:
        shown = at = 0
        while match := what.search(text, at):
            kind = match.lastgroup or ""
            replaced = _TAKE_APART[kind](self, match)
            if replaced is None:  # not what it looked like, or only as far as its name
                at = _after_name(match) if kind in ("option", "variable", "setting") else match.end()
                continue
            yield text[shown : match.start()]
            yield from replaced
            shown = at = match.end()
        yield text[shown:]


def _after_name(match: re.Match[str]) -> int:
    """Where the value of a setting begins: it may hold something itself, such as a path."""
    return match.start() + (re.match(r"[^=:\s]*+[=:\s]*+", match[0]) or match).end()


Pieces = list[Piece] | None


def _kept(_: Found, __: re.Match[str]) -> Pieces:
    return None


def _host_in(found: Found, host: str) -> Pieces:
    name, _, port = host.partition(":")
    secret = found.learn(Secret("host", name.lower()))
    first = name.partition(".")[0]
    if first != name and _HOSTLY.fullmatch(first):
        found.learn(Secret("host", first.lower()))
    return [secret, f":{port}"] if port else [secret]


def _user_in(found: Found, name: str) -> Secret:
    parts = re.split("[. ]", name.lower())
    for part in parts if len(parts) > 1 else ():
        if len(part) > _LEAST_LETTERS:
            found.learn(Secret("user", part))
    return found.learn(Secret("user", name.lower()))


def _at(found: Found, match: re.Match[str]) -> Pieces:
    user, _, host = match[0].partition("@")
    end = len(host) - len(host.rstrip("."))
    if _NO_HOST.fullmatch(host):
        return None
    pieces = [_user_in(found, user), "@", *(_host_in(found, host.rstrip(".")) or [])]
    return [*pieces, "." * end]


def _url(found: Found, match: re.Match[str]) -> Pieces:
    scheme, _, rest = match[0].partition("://")
    if scheme.lower() == "file":
        return [f"{scheme}://", *_path_pieces(found, rest, "/")]
    authority, slash, path = rest.partition("/")
    login, _, host = authority.rpartition("@")
    if not login and (host.lower() in PUBLIC_HOSTS or _belongs_to_all(host, path)):
        return None
    if login:
        _user_in(found, login.partition(":")[0])
    pieces: list[Piece] = [f"{scheme}://", *((_host_in(found, host) or []) if host else [])]
    if not slash:
        return pieces
    path, mark, query = _split_query(path)
    dirs, slash, last = path.rpartition("/")
    pieces.append("/")
    if last.endswith("…"):
        return [*pieces, Secret("dir", path), "…"]
    if slash:
        pieces += [Secret("dir", dirs), "/"]
    pieces += found.in_name(last)
    return [*pieces, mark, Secret("value", query)] if mark else pieces


def _split_query(path: str) -> tuple[str, str, str]:
    match = re.search("[?#]", path)
    return (path[: match.start()], match[0], path[match.end() :]) if match else (path, "", "")


def _belongs_to_all(host: str, path: str) -> bool:
    return host.lower() in HOSTS_OF_MANY and path.partition("/")[0].lower() in PUBLIC_OWNERS


def _windows(found: Found, match: re.Match[str]) -> Pieces:
    return _path_pieces(found, match[0], "\\" if "\\" in match[0] else "/")


def _share(found: Found, match: re.Match[str]) -> Pieces:
    found.learn(Secret("host", match[0].lstrip("\\").partition("\\")[0].lower()))
    return _path_pieces(found, match[0], "\\")


def _path(found: Found, match: re.Match[str]) -> Pieces:
    parts = [part for part in match[0].split("/") if part]
    is_of_system = any(tuple(parts[: len(each)]) == each for each in SYSTEM) and not any(map(_SITE.search, parts))
    return None if is_of_system else _path_pieces(found, match[0], "/")


def _path_pieces(found: Found, path: str, separator: str) -> list[Piece]:
    """The directory as one secret, then the last component, which is what one acts on."""
    parts = [part for part in re.split(r"[\\/]+", path) if part]
    if not parts:
        return [path]
    _learn_user(found, parts)
    # What a rule cut off ends with what may have been a directory, and a home is named after its user.
    if parts[-1].endswith("…") and len(parts) > 1:
        return [Secret("dir", "/".join(parts)), separator, "…"]
    tail = path[len(path.rstrip("\\/")) :]
    if len(parts) > 1 and parts[-2].lower() in SURE_HOMES:
        return [Secret("dir", "/".join(parts)), tail]
    last = _first_public(parts)
    if all(_NOWHERE.fullmatch(part) for part in parts[:last]):
        start = path.index(parts[last])
        return [path[:start], *found.in_name(path[start:])]
    return [Secret("dir", "/".join(parts[:last])), separator, *found.in_name(separator.join(parts[last:])), tail]


def _first_public(parts: list[str]) -> int:
    """Where the part begins that stays: at a public package, else at the last component."""
    for index, part in enumerate(parts[:-2]):
        if _SITE.search(part) and parts[index + 1] in PUBLIC_PACKAGES:
            return index + 1
    return len(parts) - 1


def _learn_user(found: Found, parts: list[str]) -> None:
    for index, part in enumerate(parts):
        if match := _ACCOUNT_IN_NAME.match(part):
            _user_in(found, match[1])
        if part.startswith("~") and index == 0:
            _user_in(found, part[1:])
        if part.lower() in HOMES:
            # /home/users/alice, /home/a/alice
            later = [each for each in parts[index + 1 : index + 4] if len(each) > 1 and each.lower() not in HOMES]
            is_named = later and (part.lower() in SURE_HOMES or len(later) > 1)
            if is_named and re.fullmatch(r"[\w. -]+", later[0]):
                _user_in(found, later[0])


def _mount(found: Found, match: re.Match[str]) -> Pieces:
    host = match[0][:-1]
    if host.lower() in NO_HOST or host.lower() in found.ordinary:
        return None
    return [*(_host_in(found, host) or []), ":"]


def _ip(_: Found, match: re.Match[str]) -> Pieces:
    address, __, port = match[0].partition(":")
    numbers = [int(each) for each in address.split(".")]
    if max(numbers) > _BYTE or numbers[0] == _LOOPBACK or not any(numbers):
        return None
    return [Secret("host", address), f":{port}"] if port else [Secret("host", address)]


def _ip6(_: Found, match: re.Match[str]) -> Pieces:
    is_one = "::" in match[0] or match[0].count(":") == _COLONS
    return [Secret("host", match[0].lower())] if is_one else None


def _whole_host(_: Found, match: re.Match[str]) -> Pieces:
    return [Secret("host", match[0].lower())]


def _host(found: Found, match: re.Match[str]) -> Pieces:
    name = match[0].partition(":")[0]
    if name.lower() in PUBLIC_HOSTS | HOSTS_OF_MANY:
        return None
    first, labels = name.partition(".")[0], name.count(".") + 1
    is_one = labels > _DOMAIN or "-" in first or _OF_A_HOUSE.search(name)
    likely = is_one and name == name.lower() and _HOSTLY.fullmatch(first)
    return _host_in(found, match[0]) if likely or _SURELY.search(name) else None


def _port(found: Found, match: re.Match[str]) -> Pieces:
    name = match[0].partition(":")[0]
    return None if name.lower() in found.ordinary else _host_in(found, match[0])


def _relative(found: Found, match: re.Match[str]) -> Pieces:
    if re.split(r"[\\/]", match[0], maxsplit=1)[0] in PUBLIC_PACKAGES:
        return None
    return _path_pieces(found, match[0], "\\" if "\\" in match[0] else "/")


def _bearer(_: Found, match: re.Match[str]) -> Pieces:
    scheme, blank, key = match[0].partition(" ")
    return [scheme, blank, Secret("token", key.lstrip())]


def _field(found: Found, match: re.Match[str]) -> Pieces:
    name = re.search(r"[\w.-]+$", match[0])
    before = match[0][: name.start()] if name else match[0]
    if name is None or _HARMLESS.fullmatch(name[0]) or name[0].lower() == "localhost":
        return None
    is_user = before.lower().startswith(("user", "login", "owner"))
    return [before, _user_in(found, name[0])] if is_user else [before, *(_host_in(found, name[0]) or [])]


def _variable(found: Found, match: re.Match[str]) -> Pieces:
    name, _, value = match[0].partition("=")
    if _IS_SECRETIVE.search(name) and value.strip(_QUOTES):
        return [f"{name}=", _value(found, value, is_secret=True)]
    if _HARMLESS.fullmatch(value) or (name.startswith(PUBLIC_VARIABLES) and _SETTING_OF_LIBRARY.fullmatch(value)):
        return None
    if name in ("LOGNAME", "USER"):
        return [f"{name}=", _user_in(found, value.strip(_QUOTES))]
    if name in ("MASTER_ADDR", "SLURMD_NODENAME", "SLURM_SUBMIT_HOST"):
        return [f"{name}=", *(_host_in(found, value.strip(_QUOTES)) or [])]
    return [f"{name}=", _value(found, value)]


def _option(found: Found, match: re.Match[str]) -> Pieces:
    name, between, value = re.split(r"(=|\s+)", match[0], maxsplit=1)
    bare = name.lstrip("-")
    is_secret = bool(_IS_SECRETIVE.search(bare))
    if bare in OWN_OPTIONS or (_HARMLESS.fullmatch(value) and not is_secret) or not value.strip(_QUOTES):
        return None
    before = match.string[max(0, match.start() - _NEAR) : match.start()]
    is_flag = len(bare) == 1 or re.search(r"\.(?:py|sh)$", value)  # --flag train.py
    if between != "=" and not is_secret and (is_flag or not _COMMAND.search(before)):
        return None
    return [name, between, _value(found, value, is_secret=is_secret)]


def _setting(found: Found, match: re.Match[str]) -> Pieces:
    at = _after_name(match) - match.start()
    value = match[0][at:]
    return None if _HARMLESS.fullmatch(value) else [match[0][:at], _value(found, value, is_secret=True)]


def _value(found: Found, value: str, *, is_secret: bool = False) -> Secret:
    bare = value.strip(_QUOTES)
    for match in NAMING.finditer(bare):
        _TAKE_APART[match.lastgroup or ""](found, match)
    secret = Secret("value", bare)
    return found.learn(secret) if is_secret and len(bare) >= _LEAST_OF_VALUE else secret


def _token(_: Found, match: re.Match[str]) -> Pieces:
    return [Secret("token", match[0])]


def _random(found: Found, match: re.Match[str]) -> Pieces:
    word = match[0]
    if word.startswith("_") or word in found.hashes or _GRAPH_OF_INDUCTOR.fullmatch(word):
        return None
    return [Secret("token", word)] if _is_random(word) else None


def _is_random(word: str) -> bool:
    """Whether letters and digits of a word follow each other as by chance: names of kernels have words in them."""
    if _HEX.fullmatch(word):
        return len(set(word.lower()) & set("abcdef")) >= _DIFFERENT and any(map(str.isdigit, word))
    kinds = [0 if c.islower() else 1 if c.isupper() else 2 if c.isdigit() else 3 for c in word]
    changes = sum(a != b for a, b in pairwise(kinds)) / len(word)
    has_all = min(map(kinds.count, range(3))) >= _OF_EACH_KIND
    return has_all and changes > _CHANGES and kinds.count(3) / len(word) <= _OTHERS


def _cut(_: Found, match: re.Match[str]) -> Pieces:
    """A name of a host, or an address, of which a rule shows the beginning."""
    first = match[0].partition(".")[0]
    is_host = "-" in first or (match[0].count(".") > 1 and first.isdigit())
    return [Secret("host", match[0].rstrip("…").lower()), "…"] if is_host else None


_TAKE_APART: dict[str, Callable[[Found, re.Match[str]], Pieces]] = {
    "standin": _kept,
    "url": _url,
    "at": _at,
    "windows": _windows,
    "share": _share,
    "path": _path,
    "mount": _mount,
    "ip": _ip,
    "ip6": _ip6,
    "mac": _whole_host,
    "ec2": _whole_host,
    "host": _host,
    "port": _port,
    "relative": _relative,
    "bearer": _bearer,
    "field": _field,
    "variable": _variable,
    "option": _option,
    "setting": _setting,
    "uuid": _token,
    "key": _token,
    "random": _random,
    "cut": _cut,
}
