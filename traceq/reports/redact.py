"""A report that can be shown to strangers: of the trace's texts only those stay that are known to be harmless.

Shown are traceq's own words, numbers, and of names of kernels, PyTorch's operators and functions of CUDA, NCCL and the like
the words that libraries use (traceq.common.library_names). Any other text (annotations, paths, hosts, users, settings, names
of processes and loaders) is replaced by a stand-in. What is not known to be
harmless is replaced, so that nothing has to be recognised as a secret:

    /home/alice/proj/train.py(12): step      name-k3x5wq72mdfa(12): step
    aten::mul on alice@gpu17:29500           aten::mul on name-bz5hkq4ttn2e:29500
    python run.py --secret=hf_x --steps 10   python run.py name-7vpl2rwoyc3s --steps 10

A text that is a name as a whole (of an annotation, in a table) is shown or replaced as a whole, of a kernel word by word; in
a sentence each word is, and words next to each other share a stand-in. The same text has the same stand-in all over a report,
made with a key that only this user has: a bare hash of a short name could be tried out. Only what must be the same from one
report to the next is one: the names of runs and files, and the keys in ids of findings of a user's own rules. A query in
which text of the trace was replaced no longer returns what it did; traceq's own queries hold none
(traceq.database.query.literal refuses it).
"""

from __future__ import annotations

import ast
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import PurePath
from typing import Any, TypeVar

from msgspec.structs import replace

from traceq.common.keyed import Pseudonyms, output_key
from traceq.common.library_names import has_sizes_only, is_of_library, read_words, replace_unknown_words, texts_in
from traceq.common.public_names import KERNEL, begins_public, is_public, is_public_frame
from traceq.common.text import shortened
from traceq.diagnosis.rules.registry import all_rules
from traceq.reports.held_texts import QUERIES, SENTENCES, change_parts, list_texts, map_texts
from traceq.reports.model import Report, TraceFacts, TraceReport
from traceq.runs.compare.comparison import Comparison, Side
from traceq.runs.run import Run

_Value = TypeVar("_Value")

_NAMES_OF_KERNELS = frozenset(("kernel", "last_kernel"))

# What a word may be beside those of traceq: a number with its unit, a version, a stand-in.
_NUMBER = r"[-+~]?\d{1,6}(?:\.\d{1,6})?(?:e[-+]?\d{1,3})?(?:[num]?s|x|[KMGT]i?B|GB|th|st|nd|rd)?"
_SUFFIX = r"\.(?:pt|trace|json|sqlite|nsys-rep|qdrep|gz|zst|xz|bz2|zip)"
_STAND_IN = rf"(?:(?:run|key)-[0-9a-f]{{8}}|trace-[0-9a-f]{{12}}(?:{_SUFFIX})*)"
_WORD = re.compile(rf"{_NUMBER}(?:[-/]{_NUMBER})?|(?:F|finding-|rank|p|#|ProfilerStep\#)\d{{1,6}}|{_STAND_IN}")
# In traceq's own queries a number may have any length.
_LONG_NUMBER = re.compile(r"-?\d{1,20}")
# Numbers next to each other, and what tells addresses, places and telephones among them: traceq writes 1,234 and 1, 2, 3.
_ROW = re.compile(r"(?<![\w.-])\d[\d.]*(?:[\s,;:/()+-]{1,3}\d[\d.]*)+(?![\w.])")
_GROUPED = re.compile(r"(?<![\d,])\d{1,3}(?:,\d{3})+(?![\d,])")
_OF_ADDRESS = re.compile(
    r"\d,\d|(?<![\d.])0\d\d|(?<![\d.])\d{5,}[^.\d]{1,3}\d{2,}|\d{2,}[^.\d]{1,3}\d{5,}(?![\d.])|(?:\d{3,4}[ -]){2}\d{3,4}"
)
_VERSION = re.compile(r"\d+\.\d+(?:[.a-c]\d+){0,3}(?:\+(?:cu|rocm|git)[0-9a-f.]*)?")
# Between words; the inside of a word is what may be part of a path, an address or a compound.
_BETWEEN = r"\s=()<>\[\]{},;:\"'`|*?!&…%^$"
_WORDS = re.compile(rf"[^{_BETWEEN}]+")
# Around a name in a sentence: what is glued to a stand-in would make another word of it.
_BEFORE, _AFTER = rf"(?<![^{_BETWEEN}])", rf"(?![^{_BETWEEN}.]|\.[^{_BETWEEN}])"
# Versions of drivers and libraries: anywhere else what looks like one may be an address.
_NUMBERED = r"(?:\d{1,8}|\d{1,4}(?:\.\d{1,5}){1,2})"
_VERSIONS = re.compile(
    rf"(?:(?:nccl|rccl|cuda_runtime|cuda_driver|hip_runtime|hip_driver|cupti)_version: {_NUMBERED}(?:(?:,| against) {_NUMBERED})*"
    rf"|version of the profiler: {_VERSION.pattern}(?:(?:,| against) {_VERSION.pattern})*){_AFTER}"
)
# Names of traceq's words with a number that counts.
_COUNTED = re.compile(
    r"(?:[a-z]+[ _])?(?:step|iter|iteration|epoch|batch|layer|rank|stage|stream|block)[ _#]?\d{1,4}", re.IGNORECASE
)
_FEW_DIGITS = 2
# Comments of SQL and TOML; of the headers of rules only the pages, which no report shows.
_COMMENT = re.compile(r"(?m)(?:(?:^|\s)--(?!:)|^\s*#).*$")
_PAGE = re.compile(r"(?m)^-- (?:finds|matters|measured|threshold): .*$(?:\n--  .*$)*")
_ALPHABETIC = re.compile(r"[^\W\d_]+")

# Words that say what kind of secret or address follows: with it they are replaced as one.
_OF_NAMES = frozenset(("secret", "password", "passwd", "credential", "s3", "gs", "az"))
# Sources that list words of other programs, or of secrets.
_LISTS = frozenset(("redact.py", "held_texts.py", "public_names.py", "library_names.py", "sharing"))

_LEAST_OF_NAME, _MOST_OF_NAME = 4, 300
_CUT = 80  # as rules write names
_SUFFIXES = re.compile(rf"(?:{_SUFFIX})*\Z")


def redact_report(report: Report) -> Report:
    """Return the report with stand-ins for all texts that are not known to be harmless; equal reports give equal results."""
    texts = list_texts(report)
    return _StandIns(texts, _names_of_files(report), _make_pseudonyms(texts)).change_report(report)


def redact_comparison(comparison: Comparison) -> Comparison:
    """Return the comparison with stand-ins for texts that are not known to be harmless.

    Steps, items and findings of its runs are left out.
    """
    bare = _without_items(comparison)
    texts = list_texts(bare)
    return _StandIns(texts, _names_of_runs(comparison), _make_pseudonyms(texts)).change_all(bare)


def redact_together(report: Report, comparison: Comparison) -> tuple[Report, Comparison]:
    """Return the report and the comparison redacted (see both functions), with the same stand-in for the same text in both."""
    bare = _without_items(comparison)
    texts, known = list_texts(report), _names_of_runs(comparison) | _names_of_files(report)
    stand_ins = _StandIns([*texts, *list_texts(bare)], known, _make_pseudonyms(texts))
    return stand_ins.change_report(report), stand_ins.change_all(bare)


def _make_pseudonyms(texts: Sequence[tuple[str, str]]) -> Pseudonyms:
    return Pseudonyms(output_key(text for _, text in texts))


def _names_of_files(report: Report) -> dict[str, str]:
    """Return the stand-in for each name of a trace's file or run in the report, by name."""
    known: dict[str, str] = {}
    for trace in report.traces:
        facts = trace.trace
        known |= {name: _name_file(facts) for name in (facts.file, PurePath(facts.file).name)}
        known |= {facts.run: _hash_name("run", facts.run)} if facts.run else {}
    return known


def _names_of_runs(comparison: Comparison) -> dict[str, str]:
    shown = (comparison, comparison.of_rank) if comparison.of_rank else (comparison,)
    runs = [run for part in shown for run in (*part.base.runs, *part.new.runs)]
    return {name: _name_file(run) for run in runs for name in (run.file, run.source, PurePath(run.source).name)}


def _without_items(comparison: Comparison) -> Comparison:
    """Return the comparison with stand-ins for its runs' files, and without the runs' steps, items, findings and job."""
    nothing: dict[str, Any] = dict.fromkeys(("steps", "items", "findings", "parts"), ())
    nothing |= {name: {} for name in ("shapes", "cannot_tell", "made_with")} | {"job": None}

    def bare(side: Side) -> Side:
        return replace(
            side, runs=tuple(replace(run, file=_name_file(run), source=_name_file(run), **nothing) for run in side.runs)
        )

    of_rank = None if comparison.of_rank is None else _without_items(comparison.of_rank)
    return replace(comparison, base=bare(comparison.base), new=bare(comparison.new), of_rank=of_rank)


class _StandIns:
    """The stand-ins for one report: `texts` are its (field, text) pairs, `known` the stand-ins for file names by name."""

    def __init__(self, texts: Sequence[tuple[str, str]], known: Mapping[str, str], pseudonyms: Pseudonyms) -> None:
        self._pseudonyms = pseudonyms
        kernels = {text for name, text in texts if name in _NAMES_OF_KERNELS and KERNEL.fullmatch(text)}
        self._kernels = kernels | {shortened(text, _CUT) for text in kernels}
        self._known = dict(known)
        names = {text for name, text in texts if not SENTENCES.fullmatch(name) and name != "span"}
        # A GPU that has no name of a maker's is no name at all: then its words are replaced one by one.
        names |= {text for name, text in texts if name == "device_name" and is_public(text)}
        for text in sorted(name for name in names if _LEAST_OF_NAME <= len(name) <= _MOST_OF_NAME):
            if self._is_shown(text):
                self._known |= {text: text, shortened(text, _CUT): shortened(text, _CUT)}
            elif not all(map(_is_own, _WORDS.findall(text))):
                self._known.setdefault(text, "")
                if text in kernels:
                    self._known.setdefault(shortened(text, _CUT), "")
            elif len(re.findall(r"\d", text)) > _FEW_DIGITS:
                # traceq's words, and yet the numbers are somebody's
                self._known |= dict.fromkeys((text, shortened(text, _CUT)), "")
        longest_first = sorted(map(re.escape, self._known), key=lambda text: (-len(text), text))
        self._pattern = re.compile(rf"{_BEFORE}(?:{'|'.join(longest_first)}){_AFTER}") if longest_first else None

    def change_report(self, report: Report) -> Report:
        """Return the report with stand-ins in place of texts that must not be shown, in traces, jobs and the query."""
        traces, jobs = tuple(map(self._change_trace, report.traces)), tuple(map(self.change_all, report.jobs))
        source = report.source and (traces[0].trace.file if len(traces) == 1 else "job.duckdb")
        return replace(report, query=self._change_sentence(report.query), traces=traces, jobs=jobs, source=source)

    def change_all(self, value: _Value) -> _Value:
        """Return `value` (a comparison or a job) with stand-ins in place of texts that must not be shown."""
        changed: _Value = map_texts(value, self._change)
        return changed

    def _change_trace(self, report: TraceReport) -> TraceReport:
        facts = report.trace
        run = facts.run and _hash_name("run", facts.run)
        ids = {known: self._finding_id(known, facts.run, run) for known in _finding_ids(report)}
        changed: TraceReport = map_texts(report, lambda name, text: ids.get(text) or self._change(name, text))
        return replace(changed, trace=replace(changed.trace, run=run, file=_name_file(facts)))

    def _change(self, field: str, text: str) -> str:
        """Return the text to show in place of `text` in the field of this name: itself, or with stand-ins."""
        if field == "producer_version" and _VERSION.fullmatch(text):
            return text
        if QUERIES.fullmatch(field):
            return self._change_sentence(text, is_query=True)
        return self._change_sentence(text) if SENTENCES.fullmatch(field) else self._change_name(text)

    def _change_name(self, text: str) -> str:
        """Return a name unchanged if it may be shown, else with stand-ins."""
        return text if self._is_shown(text) else self._known.get(text) or self._replace_name(text)

    def _is_shown(self, text: str) -> bool:
        is_sized = has_sizes_only(text) or re.fullmatch(_STAND_IN, text) is not None
        is_word = not text or (" " not in text and _is_own(text) and is_sized)
        return (
            is_word
            or any(is_public(text, kind) for kind in (None, "operator", "annotation", "thread", "type"))
            or is_public_frame(text)
            or (_COUNTED.fullmatch(text) is not None and all(map(_is_own, _WORDS.findall(text))))
            or (self._is_of_library(text) and is_of_library(text))
        )

    def _is_of_library(self, text: str) -> bool:
        return text in self._kernels or begins_public(text)

    def _replace_name(self, text: str) -> str:
        """Return a stand-in for the whole name; in names of libraries and kernels, only unknown words are replaced."""
        is_of_library = self._is_of_library(text)
        return replace_unknown_words(text, self._stand_in) if is_of_library else self._stand_in(text)

    def _change_sentence(self, text: str, *, is_query: bool = False) -> str:
        """Return a sentence or SQL with the report's names replaced as elsewhere, and stand-ins for unknown words."""
        return change_parts(text, _VERSIONS, lambda version: version, lambda part: self._change_names(part, is_query))

    def _change_names(self, text: str, is_query: bool) -> str:
        """Return part of a sentence with its names replaced as elsewhere in the report, and stand-ins for unknown words."""
        if self._pattern is None:
            return self._change_numbers(text, is_query)
        return change_parts(
            text,
            self._pattern,
            lambda name: self._known[name] or self._replace_name(name),
            lambda part: self._change_numbers(part, is_query),
        )

    def _change_numbers(self, text: str, is_query: bool) -> str:
        """Return the text with stand-ins for unknown words and, outside of queries, for rows of numbers that may be addresses."""
        if is_query:
            return self._change_words(text, is_query)
        return change_parts(
            text,
            _ROW,
            lambda row: self._stand_in(row) if _may_be_address(row) else self._change_words(row, is_query),
            lambda part: self._change_words(part, is_query),
        )

    def _change_words(self, text: str, is_query: bool) -> str:
        """Return the text with a stand-in for each run of words that are not traceq's own."""
        runs: list[tuple[int, int]] = []
        for match in _WORDS.finditer(text):
            if _is_own(match[0]) or is_public(match[0]) or (is_query and _LONG_NUMBER.fullmatch(match[0])):
                continue
            if runs and not _ALPHABETIC.search(text, runs[-1][1], match.start()):
                runs[-1] = (runs[-1][0], match.end())
            else:
                runs.append(match.span())
        shown, at = [], 0
        for begin, end in runs:
            shown += [text[at:begin], self._stand_in(text[begin:end])]
            at = end
        return "".join([*shown, text[at:]])

    def _stand_in(self, text: str) -> str:
        return f"name-{self._pseudonyms.short_word(text)}"

    def _finding_id(self, finding_id: str, run: str | None, stand_in: str | None) -> str:
        """Return a finding's id, `rule[:key][@run][@rankN][@hash]`, with `stand_in` for the run, a hash for a user's own key."""
        head, at, place = finding_id.partition("@")
        if run and stand_in and at:
            place = f"@{place}".replace(f"@{run}", f"@{stand_in}", 1)[1:]
        rule, colon, key = head.partition(":")
        return f"{rule}{colon}{key if _is_own(key) else _hash_name('key', key)}{at}{place}"


def _may_be_address(row: str) -> bool:
    """Return whether numbers next to each other may be an address, a place or a telephone's."""
    return _OF_ADDRESS.search(_GROUPED.sub("1", row)) is not None


def _is_own(word: str) -> bool:
    """Return whether `word` is a number or one of traceq's own words; a compound is if all its parts are."""
    bare = word.strip(".-#") or word
    if bare in _own_words() or _WORD.fullmatch(bare) or not re.search(r"\w", bare):
        return True
    parts = re.split(r"[-._+]+", bare.strip("+_"))
    return all(part in _own_words() and not part[:1].isdigit() and part.isascii() for part in parts)


@cache
def _own_words() -> frozenset[str]:
    """Return the words that traceq's texts are made of, which may be shown: of literals in code, SQL, and what rules say.

    Docstrings and comments explain, and are no part of any report, but for the titles of rules.
    """
    package = files("traceq")
    literals = (text for code in texts_in(package, (".py",), without=_LISTS) for text in _literals_of(code))
    queries = (_COMMENT.sub("", text) for text in texts_in(package, (".sql", ".toml"), without=_LISTS | {"rules"}))
    rules = (_PAGE.sub("", text) for text in texts_in(package / "diagnosis/rules", (".sql", ".toml")))
    pages = (" ".join((rule.manual.title, *rule.manual.references)) for rule in all_rules())
    found = (word for text in (*literals, *queries, *rules, *pages) for word in _WORDS.findall(text))
    words = frozenset(part for word in found for part in (word, word.strip(".-#")))
    return (words | read_words("words.txt")) - _OF_NAMES


def _literals_of(code: str) -> Iterator[str]:
    """Yield the texts that a module writes, its docstrings left out."""
    tree = ast.parse(code)
    alone = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in alone:
            yield node.value


def _hash_name(kind: str, name: str) -> str:
    is_hashed = re.fullmatch(rf"{kind}-[0-9a-f]{{8}}", name)
    return name if is_hashed else f"{kind}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _name_file(facts: TraceFacts | Run) -> str:
    suffix = _SUFFIXES.search(facts.file)
    return f"trace-{facts.sha256[:12]}{suffix[0] if suffix else ''}"


def _finding_ids(report: TraceReport) -> Iterator[str]:
    for finding in report.every_finding:
        yield finding.finding_id
        yield from (part.finding_id for part in finding.parts)
    yield from (observation.finding_id for observation in report.observations)
