"""The queries of rules: what they share, how they run, and how they are printed.

A rule's query stands in an SQL file under a header, see `read`. What several queries have in common stands in
diagnosis/shared/NAME.sql, and a query that reads it names it in its header (`uses`). Printed, these are common table
expressions in front of the query, so that the text runs against the database alone. While a trace is judged each is a
temp table of its name, made once; the text of the query is the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from difflib import get_close_matches
from functools import cache
from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from traceq.database.query import Setting, ask, literal
from traceq.database.sql import execute, package, run, shelved, statement
from traceq.diagnosis.threshold import Threshold, parse_threshold

if TYPE_CHECKING:
    import duckdb

KEYS = (
    *("rule", "title", "finds", "matters", "measured", "try", "references"),
    *("fix", "confidence", "reason", "wrong-if", "heading", "key", "same-fix", "made-by", "remark"),
    *(
        "for",
        "captures",
        "needs",
        "about",
        "unknown",
        "absent",
        "rules-out",
        "when",
        "unseen",
        "clean",
        "doubted",
        "refuted",
        "each",
        "also",
        "facts",
    ),
    *(
        "low",
        "likely",
        "high",
        "down-to",
        "query",
        "uses",
        "only-with",
        "categories",
        "settings",
        "threshold",
        "remarks",
        "rest",
    ),
)
# A text goes on further in: whatever its next line begins with is no key.
_KEY = re.compile(rf"-- ?({'|'.join(KEYS)}):\s*(.*)")
# One word before a colon, or two that a key joins with a hyphen: a misspelt key would end the text above it unseen.
_LIKE_A_KEY = re.compile(r"-- ?([A-Za-z][\w-]{0,30}(?: [a-z]{1,30})?):(?:\s|$)")

# Looked into for a condition only where a rule with one is asked: they may have millions of rows.
_LARGE = frozenset({"cpu_slice", "gpu_slice"})

# Factors of thresholds by place and name.
Scaled = Mapping[tuple[str, str], float]


class TableCondition(NamedTuple):
    """A condition of a query: it finds nothing unless a row of `table` (or a shared query) fulfils `holds`, an SQL text."""

    table: str
    holds: str


class RuleQuery(msgspec.Struct, frozen=True):
    """A rule's SQL text, the header of its file by key, its thresholds by name, and its conditions (`only-with`)."""

    text: str
    header: Mapping[str, str] = msgspec.field(default_factory=dict)
    thresholds: Mapping[str, Threshold] = msgspec.field(default_factory=dict)
    only_with: tuple[TableCondition, ...] = ()

    def listed(self, key: str, default: str = "") -> tuple[str, ...]:
        """Return the words, separated by commas, that the header has under `key`; those in `default` if it lacks the key."""
        return tuple(word for item in self.header.get(key, default).split(",") if (word := item.strip()))

    @property
    def shares(self) -> dict[str, float]:
        """The shares (0..1) of claimed time that a fix takes away: low, likely and high, from the header.

        A missing high is 1, a missing likely is high, and a missing low is 0.5 or likely, if that is less.
        """
        high = float(self.header.get("high", 1))
        likely = float(self.header.get("likely", high))
        return {"low": float(self.header.get("low", min(0.5, likely))), "likely": likely, "high": high}

    @property
    def settings(self) -> dict[str, Setting]:
        """The query's parameters from its header, by name: shares, thresholds and settings."""
        given: dict[str, Setting] = {**self.shares}
        for setting in self.listed("settings"):
            name, _, value = setting.partition("=")
            given[name.strip()] = _parse_setting(value.strip())
        return given | self.limits({})

    def limits(self, scaled: Scaled) -> dict[str, Setting]:
        """Return the thresholds of the query and of shared queries that it uses: values by name.

        Those with a factor in `scaled` are changed by it.
        """
        used = chain.from_iterable(shared_query(name).thresholds.values() for name in names_used(self))
        found = {limit.name: limit for limit in (*used, *self.thresholds.values())}
        return {
            name: each.times(scaled[each.key]) if each.key in scaled else each.value for name, each in found.items()
        }


def read(text: str, place: str = "") -> RuleQuery:
    """Return the query in `text`, the content of the SQL file `place` (a path, or the name of one of traceq's own).

    Its header is the comment lines at the top, `-- key: text`; a text goes on in comment lines without a key. Only
    `threshold` and `only-with` may be there more than once. Raises ValueError for a header line that begins with `--
    word:` where the word is no key, and for a threshold or condition that is not written as one.
    """
    texts: list[tuple[str, str]] = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.startswith("--"):
            break
        if match := _KEY.match(line):
            texts.append((match[1], match[2].strip()))
            continue
        _refuse_unknown_key(line, f"{place.removesuffix('.sql')}.sql:{number}")
        if texts:
            key, before = texts[-1]
            texts[-1] = key, f"{before} {line.removeprefix('--').strip()}".strip()
    thresholds = [parse_threshold(place, value) for key, value in texts if key == "threshold"]
    only_with = tuple(_parse_condition(place, value) for key, value in texts if key == "only-with")
    header = {key: value for key, value in texts if key not in ("threshold", "only-with")}
    return RuleQuery(text, header, {limit.name: limit for limit in thresholds}, only_with)


def _refuse_unknown_key(line: str, place: str) -> None:
    """Raise ValueError for a header line that begins with `-- word:` where the word is no key.

    `place` (file:line) begins the error's text.
    """
    match = _LIKE_A_KEY.match(line)
    word = re.sub("[ _]", "-", match[1].lower()) if match else ""
    if not match or (" " in match[1] and word not in KEYS):
        return
    near = get_close_matches(word, KEYS, 1)
    instead = f"write {near[0]!r}, or " if near else ""
    raise ValueError(
        f"{place}: {match[1]!r} is not a key of a rule's header; {instead}indent the line to go on with the text above it"
    )


def _parse_condition(place: str, text: str) -> TableCondition:
    """Return the condition in the text after `only-with:`; raise ValueError if it is not `table: condition`."""
    table, _, holds = text.partition(": ")
    if not table.isidentifier() or not holds:
        raise ValueError(f"only-with {text!r} in {place}: write it as table: condition")
    return TableCondition(table, holds)


def _parse_setting(value: str) -> Setting:
    """Return the value as a float if it is a number with a point, as an int if whole, else as text."""
    try:
        return float(value) if "." in value else int(value)
    except ValueError:
        return value


@cache
def rule_query(name: str) -> RuleQuery:
    """Return the query in `name`.sql below diagnosis/rules/, with its header.

    Where the header names another file (`query`), the SQL is that one's, and its header fills in missing keys.
    """
    own = read(statement(shelved("diagnosis/rules")[name]), name)
    if "query" not in own.header:
        return own
    other = rule_query(own.header["query"])
    return RuleQuery(
        other.text,
        {**other.header, **own.header},
        {**other.thresholds, **own.thresholds},
        (*other.only_with, *own.only_with),
    )


@cache
def shared_query(name: str) -> RuleQuery:
    """Return the query in diagnosis/shared/`name`.sql, which queries of rules use as a table."""
    return read(statement(f"diagnosis/shared/{name}.sql"), name)


@cache
def is_shared(name: str) -> bool:
    """Return whether there is a shared query `name`: a file diagnosis/shared/`name`.sql."""
    return name.isidentifier() and package().joinpath(f"diagnosis/shared/{name}.sql").is_file()


@cache
def _rule_conditions() -> tuple[tuple[RuleQuery, TableCondition], ...]:
    """Return the conditions (`only-with`) of traceq's rules, each with the query that has it."""
    return tuple(
        (query, condition) for query in map(rule_query, shelved("diagnosis/rules")) for condition in query.only_with
    )


def all_thresholds() -> tuple[Threshold, ...]:
    """Return all thresholds of traceq's rules and the shared queries that these use, each once, sorted by place and name."""
    rules = [rule_query(name) for name in shelved("diagnosis/rules")]
    queries = [*rules, *(shared_query(name) for query in rules for name in names_used(query))]
    found = {limit.key: limit for query in queries for limit in query.thresholds.values()}
    return tuple(found[key] for key in sorted(found))


def standalone_query(
    query: RuleQuery, values: Mapping[str, Setting], around: str | None = None, uses: Iterable[str] = ()
) -> str:
    """Return the query as an SQL text that a user can run: shared queries stand in it, and `values` in place of parameters.

    `around` is SQL that reads the query's rows as rule_instances, and the shared queries `uses`; it may begin with common
    table expressions of its own.
    """
    parts = {name: shared_query(name).text for name in (*names_used(query), *uses)}
    if around is not None:
        parts |= {"found": query.text, "rule_instances": statement("diagnosis/sql/rule_instances.sql")}
    if not parts:
        return literal(query.text, **values)
    ctes = ",\n".join(f"{name} as (\n{text}\n)" for name, text in parts.items())
    has_ctes = around is None or re.search("^with$", around, re.MULTILINE)
    return literal(f"with {ctes}\n" + (f"from (\n{around or query.text}\n)" if has_ctes else str(around)), **values)


def names_used(query: RuleQuery) -> Iterator[str]:
    """Yield the names of the shared queries that the query uses, each after those that it uses itself; repeats may occur."""
    for name in query.listed("uses"):
        yield from names_used(shared_query(name))
        yield name


class Workspace(msgspec.Struct):
    """The temp tables of a trace and its critical device (-2 for none) while the trace is judged.

    These are the shared queries, rule_instances (pieces of the latest claim, number `latest`), and claim_piece (pieces
    of claims that are worth listing, numbers `kept`). `scaled` has factors for thresholds by key.
    """

    connection: duckdb.DuckDBPyConnection
    trace_id: int
    device: int
    scaled: Scaled = msgspec.field(default_factory=dict)
    _made: list[str] = msgspec.field(default_factory=list)
    _claims: int = 0
    latest: int | None = None
    kept: set[int] = msgspec.field(default_factory=set)
    _held: dict[tuple[str, str], bool] = msgspec.field(default_factory=dict)
    _answers: dict[tuple[str, tuple[tuple[str, Setting], ...]], list[dict[str, Any]]] = msgspec.field(
        default_factory=dict
    )

    def ask(self, query: RuleQuery, values: Mapping[str, Setting]) -> list[dict[str, Any]]:
        """Return the rows of a query that does not read rule_instances; the same query and values run once for a trace.

        A query whose conditions (`only-with`) the trace does not fulfil does not run: it finds nothing.
        """
        key = query.text, tuple(sorted(values.items()))
        if key not in self._answers:
            self._answers[key] = []
            if self.may_find(query):
                self.make_used(query)
                self._answers[key] = ask(self.connection, query.text, **values)
        return [dict(row) for row in self._answers[key]]

    def may_find(self, query: RuleQuery) -> bool:
        """Return whether the trace fulfils the query's conditions (`only-with`), so that the query may find something."""
        return all(self._holds(condition.table, self._condition(query, condition)) for condition in query.only_with)

    def _condition(self, query: RuleQuery, condition: TableCondition) -> str:
        """Return the condition's SQL text, with the parameters of the trace and of the query's header filled in."""
        return literal(condition.holds, **self.given(), **self.settings(query))

    def _holds(self, table: str, condition: str) -> bool:
        """Return whether a row of `table` fulfils `condition`, an SQL text.

        The conditions of all rules on a shared query or a large table are asked at once, and so are those on all other
        tables together.
        """
        if (table, condition) not in self._held:
            by_itself = is_shared(table) or table in _LARGE
            self.make_used(RuleQuery("", {"uses": table if is_shared(table) else ""}))
            conditions: dict[str, set[str]] = {table: {condition}}
            for query, other in _rule_conditions():
                if other.table == table or not (by_itself or is_shared(other.table) or other.table in _LARGE):
                    conditions.setdefault(other.table, set()).add(self._condition(query, other))
            asked = [(name, sorted(texts)) for name, texts in conditions.items()]
            looks = (
                f"(select [{', '.join(f'coalesce(bool_or({text}), false)' for text in texts)}] from {name})"  # noqa: S608
                for name, texts in asked  # of headers, whose queries run as well
            )
            held = self.connection.execute(f"select {', '.join(looks)}").fetchall()[0]
            for (name, texts), found in zip(asked, held, strict=True):
                self._held.update({(name, text): holds for text, holds in zip(texts, found, strict=True)})
        return self._held[table, condition]

    def find(self, query: RuleQuery, values: Mapping[str, Setting], number: int | None = None) -> int | None:
        """Fill rule_instances with the rows of the query; return the claim's number, None if there are no rows.

        The number is `number`, or a new one if that is None. It becomes `latest`.
        """
        self.make_used(query)
        text = f"with found as (\n{query.text}\n)\n" + statement("diagnosis/sql/rule_instances.sql")
        rows = self.make_table("rule_instances", text, values)
        if number is None:
            number, self._claims = self._claims, self._claims + 1
        self.latest = number
        return number if rows else None

    def keep(self) -> None:
        """Add the pieces in rule_instances to claim_piece, under the number of the latest claim."""
        if "claim_piece" not in self._made:
            run(self.connection, "diagnosis/sql/claim_piece.sql")
            self._made.append("claim_piece")
        run(self.connection, "diagnosis/sql/insert_claim_piece.sql", claim=self.latest)
        if self.latest is not None:
            self.kept.add(self.latest)

    def spend(self, claims: list[int]) -> None:
        """Add to the temp table claim_culprit the host slices in the idle time of the claims with these numbers."""
        found, values = statement("diagnosis/sql/claim_culprit.sql"), {"trace_id": self.trace_id, "claims": claims}
        if "claim_culprit" not in self._made:
            execute(self.connection, f"create or replace temp table claim_culprit as\n{found}", values)
            self._made.append("claim_culprit")
            return
        # what failed after it was spent is asked again
        again = "delete from claim_culprit where list_contains($claims, claim)"
        execute(self.connection, f"{again};\ninsert into claim_culprit\n{found}", values)

    def drop(self) -> None:
        """Drop all temp tables of the workspace, and forget its cached answers and kept claims."""
        self.connection.execute(";".join(f"drop table if exists temp.{name}" for name in self._made))
        self._made.clear()
        self.kept.clear()
        self._answers.clear()
        self._held.clear()
        self.latest = None

    def make_used(self, query: RuleQuery) -> None:
        """Make the temp tables of the shared queries that the query uses and that are not made yet."""
        for name in names_used(query):
            if name not in self._made:
                text = shared_query(name).text
                if name == "busy":
                    run(self.connection, "diagnosis/sql/kernel_names.sql", **self.given())
                    text = f"from (\n{text}\n) select * replace (name::kernel_names as name)"
                self.make_table(name, text, self.given() | shared_query(name).limits(self.scaled))

    def make_table(self, name: str, text: str, values: Mapping[str, Setting]) -> int:
        """Make or replace the temp table `name` with the rows of the SQL `text`; return the number of rows."""
        (made,) = ask(self.connection, f"create or replace temp table {name} as\n{text}", **values)
        if name not in self._made:
            self._made.append(name)
        return int(made["Count"])

    def given(self) -> dict[str, Setting]:
        """Return the parameters that every query gets, by name: trace_id and device."""
        return {"trace_id": self.trace_id, "device": self.device}

    def settings(self, query: RuleQuery) -> dict[str, Setting]:
        """Return the parameters that the query's header gives, by name; thresholds are changed by factors in `scaled`."""
        return query.settings | query.limits(self.scaled)
