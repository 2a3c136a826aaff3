"""Find what else changed when a quantity did: facts and commits that differ across the change, those exactly there first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from traceq.formats.made_with import is_knob
from traceq.runs.history.entry import HistoryEntry
from traceq.runs.history.series import HistorySeries
from traceq.runs.history.trend import TrendChange

if TYPE_CHECKING:
    import duckdb

# Columns of reports that are facts of the run, too; `traceq` for a new version may count time otherwise.
_COLUMNS = ("commit", "branch", "label", "traceq")
COMMIT = "commit"


class FactChange(msgspec.Struct, frozen=True):
    """A fact whose value before a change is another one than after it.

    `is_exact`: all reports of the level before have the one value, all of the level after the other, but for those in
    between. `is_knob`: somebody sets it. `between` is how many commits the reports in between ran, the last before
    left out; 0 for other facts.
    """

    key: str
    before: str
    after: str
    is_exact: bool
    is_knob: bool
    between: int = 0


def find_changed_facts(
    connection: duckdb.DuckDBPyConnection,
    series: HistorySeries,
    change: TrendChange,
    added: Sequence[HistoryEntry] = (),
) -> tuple[FactChange, ...]:
    """Return the facts and commits that differ from the last report surely before the change to the first surely after.

    Those that changed exactly there come first, and of these what somebody sets; commits come last. `added` are
    reports at the end of the series that are not stored.
    """
    new = [
        (entry.report.report_id, key, value)
        for entry in added
        for key, value in (*entry.facts.items(), *((name, getattr(entry.report, name)) for name in _COLUMNS))
        if value is not None
    ]
    places = series.report_ids
    numbers = range(change.begin, change.end)
    columns = " union all ".join(
        f"""select report_id, '{name}' as key, "{name}" as value from report where "{name}" is not null"""  # noqa: S608 - of this file
        for name in _COLUMNS
    )
    rows = connection.execute(
        f"""with chosen as (select unnest($ids) as report_id, unnest($numbers) as number),
        every as (
            select report_id, key, value from fact union all {columns}
            union all select unnest($new_ids), unnest($new_keys), unnest($new_values)
        ),
        valued as (select c.number, e.key, e.value from every as e inner join chosen as c using (report_id))
        select
            key,
            any_value(value) filter (where number = $before) as before,
            any_value(value) filter (where number = $after) as after,
            count(distinct value) filter (where number <= $before) = 1
                and count(distinct value) filter (where number >= $after) = 1 as is_exact,
            count(distinct value) filter (where number > $before and number <= $after) as between
        from valued group by key
        having before is distinct from after and before is not null and after is not null""",  # noqa: S608 - of this file
        {
            **{name: [row[place] for row in new] for place, name in enumerate(("new_ids", "new_keys", "new_values"))},
            "ids": [places[number] for number in numbers],
            "numbers": list(numbers),
            "before": change.last_before,
            "after": change.first_after,
        },
    ).fetchall()
    found = [
        FactChange(key, before, after, is_exact, is_knob(key), between if key == COMMIT else 0)
        for key, before, after, is_exact, between in rows
    ]
    return tuple(sorted(found, key=lambda fact: (not fact.is_exact, fact.key == COMMIT, not fact.is_knob, fact.key)))
