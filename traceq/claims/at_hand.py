"""What the rules ask for again and again, worked out once for a trace and held in temp tables until it is judged.

Queries are printed as they are: their text runs against the database alone. While a trace is judged the same text runs with
these tables in place of

    idle_piece, busy_piece  the rows of the critical device
    common_NAME             the query judge/common/NAME.sql, which several rules have in them; `whole` puts its text in
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING

from traceq.sql import statement
from traceq.sql.facts import Setting, ask, without_end

if TYPE_CHECKING:
    import duckdb

_COMMON = re.compile(r"\bcommon_(\w+)")
_HELD = re.compile(r"\b(idle_piece|busy_piece|common_\w+)\b")


@cache
def whole(query: str) -> str:
    """The query without comments, with the text of what it has in common with others."""
    return _COMMON.sub(lambda match: f"({whole(statement(f'judge/common/{match[1]}.sql'))}\n)", _bare(query))


@cache
def _bare(query: str) -> str:
    return without_end(query)


@dataclass
class AtHand:
    """The tables held for a trace and its critical device (-2 for none); each is made when it is first asked for."""

    connection: duckdb.DuckDBPyConnection
    trace_id: int
    device: int
    _held: list[str] = field(default_factory=list)
    _types: list[str] = field(default_factory=list)
    latest: int = -1
    found: str = ""
    kept: dict[int | None, str] = field(default_factory=dict)

    def quick(self, query: str) -> str:
        """The query with the tables that are held in place of what they hold."""
        return _HELD.sub(lambda match: self._table(match[1]), _bare(query))

    def find(self, query: str, values: Mapping[str, Setting]) -> int | None:
        """Hold what a rule's query finds as the table `found`, until the next one's; its number, None for no rows."""
        self.latest += 1
        self.found = self._name("found")
        return self.latest if self._hold(self.found, self.quick(query), values) else None

    def keep(self) -> None:
        """Keep of what was found last the columns of judge/kept.sql."""
        query = statement("judge/kept.sql").replace("rule_instances", self.found)
        table = self._name(f"kept_{self.latest}")
        self._hold(table, query, {})
        self.kept[self.latest] = table

    def drop(self) -> None:
        """Let go of all tables."""
        for table in self._held:
            self.connection.execute(statement("judge/let_go.sql").replace("held_table", table))
        for name in self._types:
            self.connection.execute(statement("judge/let_go_of_names.sql").replace("kernel_names", name))
        self._held.clear()
        self._types.clear()
        self.kept.clear()
        self.latest += 1

    def _table(self, name: str) -> str:
        table = self._name(name)
        if table not in self._held:
            if name.startswith("common_"):
                query = self.quick(statement(f"judge/common/{name.removeprefix('common_')}.sql"))
            else:
                query = _bare(statement(f"judge/{name}.sql"))
            if "kernel_names" in query:
                query = query.replace("kernel_names", self._kernel_names())
            self._hold(table, query, self._given())
        return table

    def _hold(self, table: str, query: str, values: Mapping[str, Setting]) -> int:
        """Make the table of what the query finds, in place of one of its name; how many rows."""
        hold = _bare(statement("judge/hold.sql")).replace("held_table", table).replace("held_query", query)
        (made,) = ask(self.connection, hold, **values)
        if table not in self._held:
            self._held.append(table)
        return int(made["Count"])

    def _name(self, name: str) -> str:
        return f"_traceq_{name}_{self.trace_id}"

    def _given(self) -> dict[str, Setting]:
        return {"trace_id": self.trace_id, "device": self.device}

    def _kernel_names(self) -> str:
        name = self._name("kernel_names")
        if name not in self._types:
            ask(self.connection, statement("judge/kernel_names.sql").replace("kernel_names", name), **self._given())
            self._types.append(name)
        return name
