"""Find what names machines, people and their secrets in a trace, by signs, so that somebody is warned; never all of it."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from traceq.importers.chrome.source import ByteStream
from traceq.importers.sqlite import quote_name, read_only_uri
from traceq.sharing.signs import TOKENS


class _Sign(NamedTuple):
    """A sign of a secret: `needles` are found quickly, and `pattern` then matches from at most `back` bytes before one.

    `is_loose` tells whether other words match as well.
    """

    kind: str
    needles: tuple[bytes, ...]
    pattern: re.Pattern[bytes]
    back: int = 0
    # Whether words that are no secret match as well: enough to warn, not to refuse.
    is_loose: bool = False


_TOKEN = "tokens and passwords"  # noqa: S105 - what they are called
_SIGNS = (
    _Sign("home directories", (b"/home/", b"/Users/"), re.compile(rb"/(?:home|Users)/([A-Za-z_][\w.-]{1,40})")),
    _Sign("home directories", (b":\\Users\\", b":\\\\Users\\\\"), re.compile(rb":\\+Users\\+([\w.-]{1,40})")),
    _Sign("host names", (b'"host_name"', b'"hostname"', b'"machine_id"', b'"nodename"'),
        re.compile(rb'"(?:host_?name|machine_id|nodename)"\s*:\s*"([^"]{1,200})"')),
    # xplane: names of planes and statistics are texts with their length before them.
    _Sign("host names", (b"hostname\x12", b"hostname*", b"host_name*"),
        re.compile(rb"host_?name[\x12*].([\w.-]{2,100})", re.DOTALL)),
    _Sign("command lines", (b'"command"', b'"cmdline"'),
        re.compile(rb'"(?:command|cmdline)"\s*:\s*(\["[^\]]{1,300}|"[^"]{1,300}"|\[\s*"[^\]]{1,300})')),
    _Sign("paths", (b"/workspace/", b"/root/", b"s3://", b"gs://", b"/mnt/", b"/scratch/"),
        re.compile(rb"(?<![\w.])(?:(?:s3|gs)://|/(?:workspace|root|mnt|scratch)/)([\w.-]{1,60})"), 1, is_loose=True),
    _Sign("host names", (b"HOSTNAME=",), re.compile(rb"HOSTNAME=([\w.-]{2,100})")),
    _Sign("host names", (b".com", b".net", b".org", b".edu", b".gov", b".internal", b".local", b".cloud", b".corp"),
        re.compile(rb"(?<![\w@./-])([a-z][\w-]{0,40}(?:\.[\w-]{1,40}){0,4}"
            rb"\.(?:com|net|org|edu|gov|internal|local|cloud|corp))\b(?!\.?\w)"), 100),
    _Sign("users", (b"USER=", b"LOGNAME=", b"USERNAME="), re.compile(rb"(?:USER|LOGNAME|USERNAME)=([\w.-]{1,60})")),
    _Sign("mail addresses", (b"@",), re.compile(rb"([\w.+-]{1,40}@[\w-]{1,40}(?:\.[\w-]{1,20})+)"), 41),
    _Sign("network addresses", (b"10.", b"192.168.", b"172."),
        re.compile(rb"(?<![\w.-])((?:10\.\d{1,3}|192\.168|172\.(?:1[6-9]|2\d|3[01]))\.\d{1,3}\.\d{1,3})(?![\w.])"), 1),
    _Sign("environment variables",
        (b"PATH=", b"SHELL=", b"PWD=", b"HOME=", b"CUDA_VISIBLE_DEVICES=", b"LANG=", b"TERM=", b"MASTER_ADDR="),
        re.compile(rb"([A-Z_]{0,40}[A-Z]=)[^\x00\s]"), 40),
    _Sign(
        _TOKEN,
        (
            *(b"hf_", b"ghp_", b"gho_", b"ghu_", b"ghs_", b"ghr_", b"github_pat_", b"glpat-", b"sk-", b"AKIA", b"ASIA", b"AIza"),
            *(b"xoxb-", b"xoxp-", b"xoxa-", b"npm_", b"pypi-", b"dop_v1_", b"SG.", b"eyJ", b"dckr_pat_", b"wandb_v1_"),
        ),
        re.compile(rb"(?<![A-Za-z0-9])" + TOKENS.encode()), 1),
    _Sign(_TOKEN, (b"PRIVATE KEY",), re.compile(rb"-----BEGIN [A-Z ]{0,20}PRIVATE KEY"), 40),
    _Sign(
        _TOKEN,
        (b"TOKEN", b"SECRET", b"PASSWORD", b"API_KEY", b"password=", b"token=", b"api-key", b"--secret",
         b"--token ", b"--password ", b"_token ", b"api_key=", b"secret_access_key"),
        re.compile(rb"([\w-]{0,40}(?:TOKEN|SECRET|PASSWORD|API_KEY|password|token|api[-_]key|secret)"
            rb"\w{0,20}(?:[= ]|: ))[^\s\x00\"]{3,}"), 40, is_loose=True),
)  # fmt: skip
# Formats of which traces can be written that name nobody.
ANONYMISED = ("chrome", "nsys")
_AHEAD = 400
_CHUNK, _OVERLAP = 4 << 20, 1 << 10
_MOST = 10_000


class FoundSecrets(NamedTuple):
    """A kind of secret that a trace holds, and the number of different secrets of the kind that were found."""

    kind: str
    number: int


def find_secrets(path: Path) -> list[FoundSecrets]:
    """Return the kinds of secrets in a file, unpacked, or in all files of a folder, with the number of different ones found.

    At most 10,000 of a kind are counted, and no values are kept.
    """
    found: dict[str, set[int]] = {sign.kind: set() for sign in _SIGNS}
    files = sorted(file for file in path.rglob("*") if file.is_file()) if path.is_dir() else [path]
    for text in chain.from_iterable(map(_read_windows, files)):
        for sign in _SIGNS:
            for value in _find_values(text, sign):
                if len(found[sign.kind]) < _MOST:
                    found[sign.kind].add(hash(value))
    return [FoundSecrets(kind, len(values)) for kind, values in found.items() if values]


def secret_kinds(text: bytes) -> list[str]:
    """Return the kinds of secrets that the text holds by signs that match nothing else; a kind may come several times."""
    return [sign.kind for sign in _SIGNS if not sign.is_loose and any(True for _ in _find_values(text, sign))]


def texts_of(path: Path) -> Iterator[bytes]:
    """Yield the texts in a trace that traceq wrote: all of a Chrome trace in pieces, or each text and blob of an nsys export."""
    with path.open("rb") as file:
        is_export = file.read(6) == b"SQLite"
    if not is_export:
        yield from _read_windows(path)
        return
    with closing(sqlite3.connect(read_only_uri(path), uri=True)) as export:
        export.text_factory = bytes
        for (table,) in export.execute("select name from sqlite_master where type = 'table'").fetchall():
            name = quote_name(table.decode())
            columns = [row[1].decode() for row in export.execute(f"pragma table_info({name})")]
            for column in columns:
                query = (
                    f"select {quote_name(column)} from {name} where typeof({quote_name(column)}) in ('text', 'blob')"  # noqa: S608
                )
                for (value,) in export.execute(query):
                    yield bytes(value)


def _find_values(text: bytes, sign: _Sign) -> Iterator[bytes]:
    """Yield each secret in the text that has the sign, without the words around it."""
    for needle in sign.needles:
        place = text.find(needle)
        while place >= 0:
            end = place + 1
            if match := _match_around(text, place, sign):
                yield match[1] if match.groups() else match[0]
                end = max(end, match.end())
            place = text.find(needle, end)


def _match_around(text: bytes, place: int, sign: _Sign) -> re.Match[bytes] | None:
    """Return the match of the sign's pattern that covers position `place`, where a needle was found; None if none does."""
    match = sign.pattern.search(text, max(0, place - sign.back), place + _AHEAD)
    while match and match.end() <= place:
        match = sign.pattern.search(text, match.end(), place + _AHEAD)
    return match if match and match.start() <= place else None


def _read_windows(path: Path) -> Iterator[bytes]:
    """Yield the unpacked content of a file in overlapping pieces, so that a secret cut by one piece is whole in the next."""
    with closing(ByteStream(path, lambda _bytes: None)) as stream:
        tail = b""
        while text := stream.read(_CHUNK):
            yield tail + text
            tail = text[-_OVERLAP:]
