"""From traceq.toml to budgets. Unknown keys are errors: a budget that nobody checks is worse than none."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from traceq.analysis.categories import CATEGORIES
from traceq.diagnosis.subject import WORTH_LISTING
from traceq.errors import UnusableBudget
from traceq.runs.budgets import amounts
from traceq.runs.budgets.budget import ANY, JOB, SHARE, STEP, SUMS, Bound, Budget, Compare, Limit, Table

NAME = "traceq.toml"

T = TypeVar("T")

_TABLES = ("step", "throughput", "ledger", "findings", "job", "sql", "compare")
_SQL = ("name", "query", "max", "min", "unit")
_BOUNDS: Mapping[str, Bound] = {"min": "at least", "max": "at most"}
_COMPARE = ("baseline", "max_regression", "level", "noise", "fail_on_likely")
_ABSENT = "absent"
_LARGEST = 1 << 20
# Keys of many parts take the square of their number.
_MOST_DOTS = 1000


class BudgetFile(msgspec.Struct, frozen=True):
    """The budgets of the file `path`, in the order of its kinds of tables, and its table [compare]."""

    path: str
    budgets: tuple[Budget, ...]
    compare: Compare


class _TomlPlace(msgspec.Struct, frozen=True):
    """A table of the budget file, by its path of keys `at`, to name file and line in errors."""

    file: str
    lines: Mapping[tuple[str | int, ...], int]
    at: tuple[str | int, ...]

    def line(self, key: str | None = None) -> int | None:
        """Return the line of the table, or of its `key`, from 1; None if it is not known."""
        path = self.at if key is None else (*self.at, key)
        # Of inline tables only the key that holds them has a line.
        return next((self.lines[path[:end]] for end in range(len(path), 0, -1) if path[:end] in self.lines), None)

    def error(self, what: str, key: str | None = None) -> UnusableBudget:
        """Return the error `what` about the table, or its `key`, with file, line and table in front of it."""
        line = self.line(key)
        where = f"{self.file}, line {line}" if line else self.file
        table = f" [{self.at[0]}]" if self.at else ""
        return UnusableBudget(f"{where}:{table} {f'{key}: ' if key is not None else ''}{what}")


def read(path: Path) -> BudgetFile:
    """Read the budgets in the TOML file `path`. Raises UnusableBudget, with the file, line and key that are wrong."""
    text = _read_text(path)
    try:
        content = tomllib.loads(text, parse_float=Decimal)
        lines = find_toml_lines(text)
    except tomllib.TOMLDecodeError as error:
        raise UnusableBudget(f"{path}: is not valid TOML: {error}") from error
    except RecursionError as error:
        raise UnusableBudget(f"{path}: is not a budget file: its values are nested too deeply") from error
    except (ValueError, InvalidOperation) as error:  # TOMLDecodeError is one, too, and is above
        raise UnusableBudget(f"{path}: is not a budget file: it has a number with too many digits") from error
    top = _TomlPlace(str(path), lines, ())
    _refuse_unknown(top, content, _TABLES)
    budgets: list[Budget] = []
    for name, of_table in _OF_TABLE.items():
        if name in content:
            budgets += of_table(_TomlPlace(str(path), lines, (name,)), _get_table(top, content, name))
    budgets += _read_sql_tables(top, content.get("sql", []))
    return BudgetFile(
        str(path), tuple(budgets), _read_compare(_TomlPlace(str(path), lines, ("compare",)), top, content)
    )


@cache
def rule_names() -> tuple[frozenset[str], frozenset[str], frozenset[str]]:
    """Return three sets of names: rules that estimate savings, rules that only remark, and rules of the extra pack."""
    from traceq.diagnosis.rules.registry import all_rules

    remarking = frozenset(rule.name for rule in all_rules() if rule.remarks)
    extra = frozenset(rule.name for rule in all_rules() if rule.is_extra)
    return frozenset(rule.name for rule in all_rules()) - remarking - extra, remarking, extra


def suggest_names(name: str, known: Collection[str]) -> str:
    """Return a hint for an unknown name: the closest of `known`, or all of them if they are few."""
    close = difflib.get_close_matches(name, sorted(known), n=3, cutoff=0.5)
    few = 12
    if close:
        return f"did you mean: {', '.join(close)}?"
    return f"there are {', '.join(known)}" if len(known) <= few else "`traceq rules list` prints the names"


def _read_text(path: Path) -> str:
    """Return the text of the budget file.

    Raises UnusableBudget if it is unreadable, too large, not UTF-8, or has too many dots.
    """
    try:
        with path.open("rb") as file:
            content = file.read(_LARGEST + 1)
    except OSError as error:
        raise UnusableBudget(f"{path}: cannot be read: {error.strerror}") from error
    if len(content) > _LARGEST:
        raise UnusableBudget(f"{path}: is larger than 1 MiB, so it is not a budget file")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise UnusableBudget(f"{path}: is not UTF-8 (byte {error.start}); save it as UTF-8") from error
    if max(line.count(".") for line in text.split("\n")) > _MOST_DOTS:
        raise UnusableBudget(f"{path}: has more than {_MOST_DOTS:,} dots in a line: split it")
    return text


def _refuse_unknown(place: _TomlPlace, table: Mapping[str, Any], known: Collection[str]) -> None:
    """Raise UnusableBudget, with a hint, at the first key of the table that is not in `known`."""
    for key in table:
        if key not in known:
            raise place.error(f"unknown key; {suggest_names(key, known)}", key)


def _get_table(top: _TomlPlace, content: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return the table `name` of the file, empty if it is missing. Raises UnusableBudget if it is no table."""
    table = content.get(name, {})
    if not isinstance(table, dict):
        raise top.error(f"must be a table: [{name}], and below it a line for each budget", name)
    return table


def _parse_value(place: _TomlPlace, key: str, read_value: Callable[[object], T], value: object) -> T:
    """Return `read_value(value)`; its ValueError is raised as UnusableBudget with file, line and key."""
    try:
        return read_value(value)
    except ValueError as error:
        raise place.error(str(error), key) from error


def _read_limited(name: Table, place: _TomlPlace, table: Mapping[str, Any]) -> Iterator[Budget]:
    """Yield a budget with one limit for each key of a table [step], [throughput] or [ledger]."""
    known, limit = _LIMITS[name]
    _refuse_unknown(place, table, known or table)
    for key, value in table.items():
        yield Budget(name, key, (_parse_value(place, key, limit, value),), place.line(key))


def _read_findings(place: _TomlPlace, table: Mapping[str, Any]) -> Iterator[Budget]:
    """Yield a budget for each rule, or ANY, of the table [findings].

    Raises UnusableBudget for rules without savings.
    """
    finding, remarking, extra = rule_names()
    for key, value in table.items():
        if key in remarking:
            raise place.error(
                f"this rule only makes remarks and has no saving to limit; `traceq explain {key}` says more", key
            )
        if key in extra:
            raise place.error(
                "this rule is in the pack extra, which budgets cannot use: no labelled real trace has confirmed it;"
                f" `traceq explain {key}` says more",
                key,
            )
        if key not in finding and key != ANY:
            raise place.error(f"unknown rule; {suggest_names(key, (*finding, ANY))}", key)
        yield Budget("findings", key, _read_finding_limits(place, key, value), place.line(key))


def _read_finding_limits(place: _TomlPlace, key: str, value: object) -> tuple[Limit, ...]:
    """Return the limit of a rule's saving; empty for "absent". Raises UnusableBudget for anything else."""
    if value == _ABSENT:
        return ()
    if not isinstance(value, str):
        raise place.error(
            f'{amounts.quote_value(value)} is not a limit: write "absent", or a saving as "2 ms" or "1 %"', key
        )
    limit = _parse_value(place, key, amounts.parse_time_or_share, value)
    if limit.bound == "at least":
        raise place.error("a finding can have a maximum but no minimum: leave out >=", key)
    if limit.unit == SHARE and limit.amount < Fraction(str(WORTH_LISTING)):
        raise place.error('a saving below 1 % of the step is not a finding: write "absent", or 1 % or more', key)
    return (limit,)


def _read_job(place: _TomlPlace, table: Mapping[str, Any]) -> Iterator[Budget]:
    """Yield a budget for each key of the table [job]; a straggler that is "absent" has no limit."""
    _refuse_unknown(place, table, JOB)
    for key, value in table.items():
        if key == "straggler" and value == _ABSENT:
            limits: tuple[Limit, ...] = ()
        else:
            limits = (_parse_value(place, key, _OF_JOB[key], value),)
        if any(limit.bound == "at least" for limit in limits):
            raise place.error("a job can have a maximum but no minimum: leave out >=", key)
        yield Budget("job", key, limits, place.line(key))


def _read_sql_tables(top: _TomlPlace, tables: object) -> Iterator[Budget]:
    """Yield a budget for each table [[sql]]. Raises UnusableBudget for a name that is there twice."""
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise top.error("must be tables: [[sql]], and below it name, query, max or min", "sql")
    names: set[str] = set()
    for number, table in enumerate(tables):
        place = _TomlPlace(top.file, top.lines, ("sql", number))
        budget = _read_sql(place, table)
        if budget.name in names:
            raise place.error(f"budget {budget.name!r} already exists; choose another name", "name")
        names.add(budget.name)
        yield budget


def _read_sql(place: _TomlPlace, table: Mapping[str, Any]) -> Budget:
    """Return the budget of one table [[sql]].

    Raises UnusableBudget if its name, query or limits are missing or wrong.
    """
    _refuse_unknown(place, table, _SQL)
    for key in ("name", "query"):
        if not isinstance(table.get(key), str) or not table[key].strip():
            raise place.error("is missing: give a text", key)
    unit = table.get("unit", "")
    if not isinstance(unit, str):
        raise place.error(f"{amounts.quote_value(unit)} is not text", "unit")
    limits = []
    for key, bound in _BOUNDS.items():
        if key in table:
            amount = _parse_value(place, key, partial(amounts.parse_in_unit, unit=unit), table[key])
            limits.append(Limit(bound, amount, unit))
    if not limits:
        raise place.error("has no limit: add max, or min, or both")
    if len(limits) > 1 and limits[0].amount > limits[1].amount:
        raise place.error("is more than max", "min")
    return Budget("sql", table["name"], tuple(limits), place.line(), table["query"])


def _read_compare(place: _TomlPlace, top: _TomlPlace, content: Mapping[str, Any]) -> Compare:
    """Return the table [compare]; with defaults if it is missing. Raises UnusableBudget for wrong values."""
    table = _get_table(top, content, "compare")
    _refuse_unknown(place, table, _COMPARE)
    baseline = table.get("baseline")
    if baseline is not None and (not isinstance(baseline, str) or not baseline):
        raise place.error("must be the name of a baseline, or its file", "baseline")
    noise = table.get("noise")
    if noise is not None and (not isinstance(noise, str) or not noise):
        raise place.error('must be a share of the step, as "0.8 %", or the name of a baseline', "noise")
    fail_on_likely = table.get("fail_on_likely", False)
    if not isinstance(fail_on_likely, bool):
        raise place.error("must be true or false", "fail_on_likely")
    if table and baseline is None and not table.keys() & {"max_regression", "level", "noise", "fail_on_likely"}:
        raise place.error("is empty")
    return Compare(
        baseline,
        _read_regression(place, table["max_regression"]) if "max_regression" in table else None,
        _read_level(place, table["level"]) if "level" in table else None,
        noise,
        next((place.line(key) for key in ("max_regression", "baseline") if key in table), None),
        fail_on_likely,
    )


def _read_regression(place: _TomlPlace, value: object) -> Fraction:
    """Return the share (0..1) of a max_regression such as "3 %". Raises UnusableBudget for anything else."""
    try:
        return amounts.parse_share(str(value) if isinstance(value, str) else "")
    except ValueError as error:
        raise place.error(
            f'{amounts.quote_value(value)} is not a percentage of the step: write "3 %"', "max_regression"
        ) from error


def _read_level(place: _TomlPlace, value: object) -> float:
    """Return the level, a probability above 0 and at most 0.5. Raises UnusableBudget for anything else."""
    most = 0.5
    level = _parse_value(place, "level", amounts.exact_number, value)
    if level is None or not 0 < level <= most:
        raise place.error(f"{amounts.quote_value(value)} is not a probability from 0 to 0.5, such as 0.02", "level")
    return float(level)


# Per table the keys that it may have, if not any (throughput: those of the program's payload marks), and what reads a limit.
_LIMITS: Mapping[Table, tuple[Collection[str], Callable[[object], Limit]]] = {
    "step": (STEP, amounts.parse_time),
    "throughput": ((), amounts.parse_rate),
    "ledger": ((*CATEGORIES, *SUMS), amounts.parse_time_or_share),
}
_OF_JOB: Mapping[str, Callable[[object], Limit]] = {
    "step": amounts.parse_time,
    "slowdown": amounts.parse_factor,
    "straggler": amounts.parse_time_or_share,
}
_OF_TABLE: Mapping[Table, Callable[[_TomlPlace, Mapping[str, Any]], Iterator[Budget]]] = {
    **{name: partial(_read_limited, name) for name in _LIMITS},
    "findings": _read_findings,
    "job": _read_job,
}


# What a statement over several lines can end with.
_ENDS = ('"""', "'''", "]", "}")
# Characters: each line in which a statement could end has the whole statement read again.
_MOST_READ = 1 << 20


def find_toml_lines(text: str) -> dict[tuple[str | int, ...], int]:
    """Return the line, from 1, on which each table and key of the valid TOML `text` begins.

    Keys are paths, in which an element of an array of tables is its number: ("sql", 0, "query"). The text is split into
    statements at ends of lines where what was read is valid TOML. After statements of thousands of lines the rest is
    left out.
    """
    found: dict[tuple[str | int, ...], int] = {}
    arrays: dict[str, int] = {}
    above: tuple[str | int, ...] = ()
    for line, statement in _split_statements(text):
        is_header = statement.lstrip().startswith("[")
        paths = [_number_tables(path, arrays) for path in _key_paths(tomllib.loads(statement), is_header=is_header)]
        if is_header:
            above = paths[-1]
        for path in paths:
            found.setdefault(path if is_header else (*above, *path), line)
    return found


def _split_statements(text: str) -> Iterator[tuple[int, str]]:
    """Yield the number of its first line and the text of every statement of the TOML text, without comments.

    Ends early after statements that take too long to find.
    """
    begun: list[str] = []
    start = 1
    read = 0
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), 1):
        if begun and not any(end in line for end in _ENDS):
            begun.append(line)
            continue
        begun.append(line)
        statement = "\n".join(begun)
        read += len(statement)
        if read > _MOST_READ:
            return
        try:
            content = tomllib.loads(statement)
        except tomllib.TOMLDecodeError:
            continue
        if content:
            yield start, statement
        begun, start = [], number + 1


def _key_paths(content: Mapping[str, Any], *, is_header: bool) -> Iterator[tuple[str | int, ...]]:
    """Yield the path of each key in a statement, outermost key first; the path of an array of tables ends in -1."""
    for key, value in content.items():
        yield (key,)
        if isinstance(value, dict):
            yield from ((key, *path) for path in _key_paths(value, is_header=is_header))
        elif is_header:
            yield (key, -1)


def _number_tables(path: tuple[str | int, ...], arrays: dict[str, int]) -> tuple[str | int, ...]:
    """Return the path with a final -1 replaced by the table's number in its array; `arrays` holds the numbers given so far."""
    if path[-1] != -1:
        return path
    name = "\0".join(map(str, path[:-1]))
    arrays[name] = arrays.get(name, -1) + 1
    return (*path[:-1], arrays[name])
