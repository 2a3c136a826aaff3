"""A report that can be shown to strangers: what tells where the trace was made is replaced by stand-ins.

Replaced are the directories of paths (what comes last stays, as it is what one acts on), users, hosts, the values of settings
and of options of command lines, and keys:

    /home/alice/proj/train.py(12): step      <dir1>/train.py(12): step
    s3://bucket/run7/shard-3.tar             s3://<host1>/<dir2>/shard-3.tar
    alice@gpu17:29500, seen by alice         <user1>@<host2>:29500, seen by <user1>
    python train.py --token=hf_x --steps 10  python train.py --token=<value1> --steps 10

The same word has the same stand-in all over a report. Stand-ins are numbered in the order of the report: a number says nothing of
the word, while a hash of a name as short as a user's could be tried out. Only what must be the same from one report to the next
is a hash all the same, of the run's name alone: finding ids, in which a number would depend on what else a report has. A user's
or a host's name is replaced wherever it stands as a whole word, unless traceq uses the word itself ("data", "adam").

What is public stays: paths below torch/ and other packages that everybody has, /usr/lib, settings such as NCCL_DEBUG=INFO, pages
of PyTorch's and NVIDIA's documentation. What nothing marks as a secret stays too, such as the name of a project in that of a
kernel or a range: who shows a report reads it first. Numbers and times are not touched. A query in which text of the trace was
replaced no longer returns what it did; traceq's own never hold such text (traceq.sql.facts.literal refuses it).
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass, replace
from functools import cache
from pathlib import PurePath
from typing import Any

from traceq.reports.redact_find import Found, Piece, Secret
from traceq.reports.redact_words import OWN_FIELDS
from traceq.reports.report import Report, TraceFacts, TraceReport
from traceq.rules.registry import built_in

_SUFFIXES = re.compile(r"(?:\.(?:pt|trace|json|sqlite|nsys-rep|qdrep|gz|zst|xz|bz2|zip))*\Z")
_LEAST_OF_FILE, _MOST_OF_FILE = 8, 300
# What rules cut off: they show 80 characters of a name.
_CUT = re.compile(r"[^\s…]{1,80}…")
_WORD = re.compile(r"(?<![^\W_])[^\W_]")
_LEAST_BEGINNING = 3
# What a stand-in stands beside may look like a secret then; once more is enough for all but made-up texts.
_ROUNDS = 5
# A name of this length is no name, and looking for secrets in megabytes takes seconds: so much of it is shown.
_LONGEST, _SHOWN = 50_000, 5_000


def redacted(report: Report) -> Report:
    """The report without what tells where its traces were made; of the same structure, and the same for the same report."""
    stand_ins = _StandIns(report)
    return replace(report, query=stand_ins.text(report.query), traces=tuple(map(stand_ins.trace, report.traces)))


class _StandIns:
    """What stands for what in one report."""

    def __init__(self, report: Report) -> None:
        hashes = frozenset(trace.trace.sha256 for trace in report.traces)
        self._found = Found(_ordinary(report), hashes)
        self._pieces: dict[str, list[Piece]] = {}
        self._numbers: dict[Secret, int] = {}
        self._counts: Counter[str] = Counter()
        ids = {each for trace in report.traces for each in _finding_ids(trace)}
        for text in _texts(report):
            if text not in ids:  # rule@run is no user@host
                self._take_apart(text)
        self._words: dict[str, Secret | str] = {**self._found.words}
        for trace in report.traces:
            self._words |= dict.fromkeys(self._names(trace.trace.file), _file(trace.trace))
        self._known = _any_of(self._words)
        runs = {trace.trace.run for trace in report.traces if trace.trace.run}
        self._runs = {run: f"run-{_hash(run)}" for run in runs if self._is_secret(run)}

    def _names(self, file: str) -> Iterator[str]:
        for name in (file, PurePath(file).name):
            if _LEAST_OF_FILE <= len(name) <= _MOST_OF_FILE and name.lower() not in self._found.ordinary:
                yield name.lower()

    def _take_apart(self, text: str) -> list[Piece]:
        if text not in self._pieces:
            short = text if len(text) <= _LONGEST else f"{text[:_SHOWN]}…"
            self._pieces[text] = self._found.pieces(short)
        return self._pieces[text]

    def text(self, text: str) -> str:
        """`text` with stand-ins, in which nothing is left to be replaced."""
        for _ in range(_ROUNDS):
            before, text = text, self._once(text)
            if text == before:
                break
        return text

    def _once(self, text: str) -> str:
        return "".join(
            self._for(piece) if isinstance(piece, Secret) else self._in_words(piece) for piece in self._take_apart(text)
        )

    def _in_words(self, text: str) -> str:
        if not self._words:
            return text
        replaced = self._known.sub(lambda match: self._for_word(match[0].lower()), text)
        return _CUT.sub(self._for_beginning, replaced) if "…" in replaced else replaced

    def _for_word(self, word: str) -> str:
        if word not in self._words:  # letters of which re.IGNORECASE has an opinion of its own, as the dotless i
            word = next(each for each in self._words if re.fullmatch(re.escape(each), word, re.IGNORECASE))
        stand_in = self._words[word]
        return self._for(stand_in) if isinstance(stand_in, Secret) else stand_in

    def _for_beginning(self, match: re.Match[str]) -> str:
        """The words that a rule cut off may end in the beginning of one that is known."""
        text = match[0].removesuffix("…")
        for start in (found.start() for found in _WORD.finditer(text)):
            begun = text[start:].lower()
            for word in self._words if len(begun) >= _LEAST_BEGINNING else ():
                if word.startswith(begun):
                    return f"{text[:start]}{self._for_word(word)}…"
        return match[0]

    def _is_secret(self, text: str) -> bool:
        return any(isinstance(piece, Secret) or self._known.search(piece) for piece in self._take_apart(text))

    def _for(self, secret: Secret) -> str:
        if secret not in self._numbers:
            self._counts[secret.kind] += 1
            self._numbers[secret] = self._counts[secret.kind]
        return f"<{secret.kind}{self._numbers[secret]}>"

    def trace(self, report: TraceReport) -> TraceReport:
        """The report of one trace with stand-ins."""
        run = report.trace.run and self._runs.get(report.trace.run, report.trace.run)
        ids = {each: self._finding_id(each, report.trace.run, run) for each in _finding_ids(report)}
        facts = replace(report.trace, run=run, file=_file(report.trace))

        def change(text: str) -> str:
            return ids[text] if text in ids else self.text(text)

        changed: TraceReport = _mapped(replace(report, trace=facts), change)
        return replace(changed, trace=replace(changed.trace, run=run, file=facts.file))

    def _finding_id(self, finding_id: str, run: str | None, stand_in: str | None) -> str:
        """`rule[:key][@run][@rankN][@hash]`, of which only the run, and a key of somebody's own rule, can be a secret."""
        head, at, place = finding_id.partition("@")
        if run and stand_in and at:
            place = f"@{place}".replace(f"@{run}", f"@{stand_in}", 1)[1:]
        rule, colon, key = head.partition(":")
        if self._is_secret(key):
            key = f"key-{_hash(key)}"
        return f"{rule}{colon}{key}{at}{place}"


def _hash(word: str) -> str:
    return hashlib.sha256(word.encode()).hexdigest()[:8]


def _file(facts: TraceFacts) -> str:
    suffix = _SUFFIXES.search(facts.file)
    return f"trace-{facts.sha256[:12]}{suffix[0] if suffix else ''}"


def _any_of(words: Iterable[str]) -> re.Pattern[str]:
    """Any of the words, as a whole one; an underscore stands between words, as in train_alice."""
    known = "|".join(re.escape(word) for word in sorted(words, key=lambda word: (-len(word), word)))
    return re.compile(rf"(?<![^\W_])(?:{known or '(?!)'})(?![^\W_])", re.IGNORECASE)


def _finding_ids(report: TraceReport) -> Iterator[str]:
    for finding in report.findings:
        yield finding.finding_id
        yield from (part.finding_id for part in finding.parts)
    yield from (each.finding_id for each in report.observations)


def _texts(value: Any) -> Iterator[str]:
    """All texts of the report that may hold something of the trace."""
    collected: list[str] = []

    def collect(text: str) -> str:
        collected.append(text)
        return text

    _mapped(value, collect)
    return iter(collected)


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """`value` with all its texts changed, but those of traceq's own making."""
    if isinstance(value, str):
        return change(value)
    if is_dataclass(value) and not isinstance(value, type):
        return replace(
            value,
            **{
                each.name: _mapped(getattr(value, each.name), change)
                for each in fields(value)
                if each.name not in OWN_FIELDS
            },
        )
    if isinstance(value, tuple | list):
        items = [_mapped(each, change) for each in value]
        return type(value)(*items) if hasattr(value, "_fields") else type(value)(items)
    if isinstance(value, Mapping):
        return {change(key) if isinstance(key, str) else key: _mapped(each, change) for key, each in value.items()}
    return value


def _ordinary(report: Report) -> frozenset[str]:
    """Words, in lower case, that traceq itself uses."""
    own = [report.query, *(query for trace in report.traces for query in trace.queries.values())]
    return _own_words() | frozenset(word for text in own for word in _words(text))


@cache
def _own_words() -> frozenset[str]:
    return frozenset(word for rule in built_in() for word in _words(f"{rule.manual.title} {rule.manual.text}"))


def _words(text: str) -> list[str]:
    return re.findall(r"[^\W_]+", text.lower())
