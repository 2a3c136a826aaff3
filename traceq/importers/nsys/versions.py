"""Tables of nsys by the names that files give them: in another case, or with a version behind them (NVTX_EVENTS_V2)."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping

_VERSION = re.compile(r"(.+)_v([0-9]{1,9})", re.IGNORECASE)

# Without these columns the rows of another version of a table say nothing that could be read.
_WORK, _CALLS = frozenset(("start", "end", "deviceid")), frozenset(("start", "end", "globaltid"))
_NEEDED: Mapping[str, frozenset[str]] = {
    "StringIds": frozenset(("id", "value")),
    "NVTX_EVENTS": _CALLS | {"eventtype"},
    **dict.fromkeys((f"CUPTI_ACTIVITY_KIND_{kind}" for kind in ("KERNEL", "MEMCPY", "MEMSET", "GRAPH_TRACE")), _WORK),
    **dict.fromkeys(("CUPTI_ACTIVITY_KIND_RUNTIME", "OSRT_API", "MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS"), _CALLS),
    "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION": frozenset(("start", "end")),
}


def choose_table(
    table: str, tables: Mapping[str, Collection[str]], has_rows: Callable[[str], bool]
) -> tuple[str | None, list[str]]:
    """Return the name, in the file, of the table to read as nsys' `table` (None: there is none), and its other versions.

    `tables` are the columns of the file's tables by name. Of several with rows the one without a version is read, else
    the latest: they may hold the same events, and nothing counts twice.
    """
    names = [own for own in tables if own.lower() == table.lower()]
    needed = _NEEDED.get(table, frozenset())
    versions = {
        own: found for own in tables if (found := _VERSION.fullmatch(own)) and found[1].lower() == table.lower()
    }
    usable = [own for own in versions if needed <= {column.lower() for column in tables[own]}]
    names += sorted(usable, key=lambda own: int(versions[own][2]), reverse=True)
    chosen = names[0] if len(names) == 1 else next((own for own in names if has_rows(own)), next(iter(names), None))
    return chosen, [own for own in names if own != chosen]
