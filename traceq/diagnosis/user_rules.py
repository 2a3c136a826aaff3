"""Rules that users add: an SQL file with a header, or a Python entry point in the group traceq.rules.

The header of an SQL file is the comment lines at its top, `-- key: text`, a text going on in lines that have no key:

    -- rule: slow-augmentation
    -- title: Slow augmentation
    -- fix: Move the augmentation to the GPU: kornia.augmentation
    -- needs: gpu, steps
    select p.step, p.ts, p.dur, ... from idle_piece as p where p.trace_id = $trace_id and p.device = $device

What the query returns stands in traceq.diagnosis.claim; docs/writing-rules.md has all keys.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, get_args

import duckdb
from msgspec.structs import replace

from traceq.common import plugins
from traceq.common.limits import limits
from traceq.database.query import without_end
from traceq.database.sql import parse
from traceq.database.user_sql import check_depth, check_reads, time_limit
from traceq.diagnosis.finding import Confidence
from traceq.diagnosis.manual import manual_of_header, parse_manual
from traceq.diagnosis.needs import NEEDS
from traceq.diagnosis.query import RuleQuery, is_shared, read
from traceq.diagnosis.record import EXTRA
from traceq.diagnosis.rules.declared import make_judgement
from traceq.diagnosis.rules.registry import Rule, all_rules, default_rules
from traceq.diagnosis.rules.shared.wording import cut_name
from traceq.diagnosis.rules.templates import is_template, template_error
from traceq.diagnosis.triage import CAPTURES, JUDGED
from traceq.errors import QueryError, UnusableRule

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from traceq.database.query import Setting
    from traceq.diagnosis.advice import Advice, Remark
    from traceq.diagnosis.claim import Claim
    from traceq.diagnosis.rules.declared import Judgement
    from traceq.diagnosis.subject import Subject

_GROUP = "traceq.rules"
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


def load_rules(wanted: Sequence[str | Path] = ()) -> tuple[Rule, ...]:
    """Load the rules in these files and directories and of entry points; return them, followed by traceq's own.

    Traceq's are the default rules, or all where the word `extra` is among `wanted`; a Path is always a file or
    directory. A rule of a file fails where it takes longer for a trace than the limits of the command allow. Raises
    UnusableRule for a file that holds no rule, and for a name that is taken.
    """
    found = [rule for path in wanted if path != EXTRA for rule in _from_path(Path(path))]
    found += [_from_entry_point(entry) for entry in plugins.list_entry_points(_GROUP)]
    taken = {rule.name for rule in all_rules()}
    for rule in found:
        if rule.name in taken:
            raise UnusableRule(f"rule {rule.name}: a rule of this name already exists; choose another name")
        taken.add(rule.name)
    return (*found, *(all_rules() if EXTRA in wanted else default_rules()))


def _from_path(path: Path) -> Iterator[Rule]:
    """Yield the rule of the file, or the rules of all .sql files of the directory; raise UnusableRule if it has none."""
    if path.is_dir():
        files = sorted(path.glob("*.sql"))
        if not files:
            raise UnusableRule(f"{path}: no rule in it; a rule is a file NAME.sql")
        for file in files:
            yield _from_file(file)
    else:
        yield _from_file(path)


def _from_file(path: Path) -> Rule:
    """Return the rule of an SQL file; raise UnusableRule if it cannot be read or is no rule."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "not UTF-8"
        raise UnusableRule(f"{path}: cannot be read as a rule: {reason}") from error
    try:
        query = replace(read(text, str(path)), text=without_end(text))
    except ValueError as error:
        raise UnusableRule(str(error)) from error
    name = query.header.get("rule", path.stem.replace("_", "-"))
    if not _NAME.fullmatch(name):
        raise UnusableRule(
            f"{path}: {name!r} is not a name for a rule; use kebab-case, e.g. -- rule: slow-augmentation"
        )
    _check_header(path, query)

    def find(subject: Subject, **settings: Setting) -> Claim | None:
        # what is none by itself could be two in the brackets of another
        if len(parse(query.text)) != 1:
            raise ValueError("it is not a single query")
        return subject.claim_of(query, **settings)

    judge = make_judgement(find, query)

    def limited(subject: Subject) -> Iterator[Advice | Remark]:
        with time_limit(subject.connection, limits().timeout, "the rule"):
            yield from judge(subject)

    return Rule(
        name, manual_of_header(name, query), limited, is_yours=True, captures=query.listed("captures") or JUDGED
    )


def _check_header(path: Path, query: RuleQuery) -> None:
    """Raise UnusableRule for a header that lacks a fix or has a wrong value, and for SQL that _check_sql refuses."""
    _check_sql(path, query)
    header = query.header
    if not header.get("fix"):
        raise UnusableRule(f"{path}: the header has no fix; add a line at the top: -- fix: what to change")
    if unknown := [word for need in query.listed("needs") for word in need.split("|") if word not in NEEDS]:
        raise UnusableRule(f"{path}: needs {', '.join(unknown)}, which is not one of {', '.join(NEEDS)}")
    if unknown := [word for word in query.listed("captures") if word not in CAPTURES]:
        raise UnusableRule(f"{path}: captures {', '.join(unknown)}, which is not one of {', '.join(CAPTURES)}")
    if header.get("confidence", "low") not in get_args(Confidence) and not is_template(header["confidence"]):
        raise UnusableRule(
            f"{path}: confidence {header['confidence']!r} is not one of {', '.join(get_args(Confidence))}"
        )
    for text in filter(is_template, header.values()):
        if wrong := template_error(text):
            raise UnusableRule(f"{path}: {wrong}; texts are Jinja templates")
    for key in ("low", "likely", "high"):
        if not _is_share(header.get(key, "1")):
            raise UnusableRule(f"{path}: {key} is {header[key]!r}, not a share from 0 to 1")
    low, likely, high = query.shares.values()
    if not low <= likely <= high:
        raise UnusableRule(f"{path}: low, likely and high are {low:g}, {likely:g} and {high:g}; put them in this order")


def _check_sql(path: Path, query: RuleQuery) -> None:
    """Raise UnusableRule for a query that would write or is nested too deeply, and for a wrong `uses` or `only-with`.

    An `only-with` must hold a single condition on the rows of its table.
    """
    try:
        for text in (query.text, *(condition.holds for condition in query.only_with)):
            check_depth(text)
    except QueryError as error:
        raise UnusableRule(f"{path}: {error}") from error
    is_query = True
    try:
        with suppress(duckdb.Error):  # SQL that is wrong says so when it runs
            parsed = parse(query.text)
            check_reads(parsed)
            is_query = all(statement.type is duckdb.StatementType.SELECT for statement in parsed)
    except QueryError:
        is_query = False
    if not is_query:
        raise UnusableRule(f"{path}: is not a query: a rule may only read the database")
    if unknown := [name for name in query.listed("uses") if not is_shared(name)]:
        raise UnusableRule(f"{path}: uses {', '.join(unknown)}, which is not a shared query of traceq")
    for table, holds in query.only_with:
        if not _is_query(f"select {holds} from {table}"):  # noqa: S608 - it is only parsed
            raise UnusableRule(f"{path}: only-with {cut_name(holds)!r} is not a condition on the rows of {table}")


def _is_query(text: str) -> bool:
    """Return whether the text is a single SELECT of SQL."""
    try:
        return [statement.type for statement in parse(without_end(text))] == [duckdb.StatementType.SELECT]
    except duckdb.Error:
        return False


def _is_share(value: str) -> bool:
    """Return whether the text is a number from 0 to 1."""
    try:
        return 0 <= float(value) <= 1
    except ValueError:
        return False


def _from_entry_point(entry: EntryPoint) -> Rule:
    """Return the rule of an entry point: its function, and the manual page in the docstring of its module.

    Raises UnusableRule where it cannot be loaded.
    """
    try:
        judge: Judgement = entry.load()
        page = parse_manual(import_module(judge.__module__).__doc__ or "")
    except Exception as error:
        # A package of somebody else breaks as it likes.
        raise UnusableRule(
            f"entry point {entry.name} ({entry.value}): {type(error).__name__}: {' '.join(str(error).split())};"
            " reinstall or remove its package"
        ) from error
    return Rule(entry.name.replace("_", "-"), page, judge, is_yours=True)
