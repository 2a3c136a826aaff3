"""One broken rule is told, and the others still run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import duckdb

from traceq.diagnosis.finding import Failed, NotApplicable
from traceq.diagnosis.needs import CannotTell


@contextmanager
def catch_outcomes(name: str, title: str, unknown: list[NotApplicable], broken: list[Failed]) -> Iterator[None]:
    """Catch errors of the rule `name` in the block: CannotTell is added to `unknown`, any other error to `broken`.

    An interrupt of DuckDB, by a time limit or the user, is raised again.
    """
    try:
        yield
    except CannotTell as error:
        unknown.append(NotApplicable(name, title, str(error)))
    except duckdb.InterruptException:
        raise
    except Exception as error:  # noqa: BLE001 - an error of traceq or of the database, and told as such
        broken.append(Failed(name, title, f"{type(error).__name__}: {' '.join(str(error).split())}"))
