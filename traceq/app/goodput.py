"""Goodput: where the wall time of a whole run went, from its logs alone, and what that cost."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from pathlib import Path

from traceq.app.source import check_writes
from traceq.app.view import View
from traceq.common.limits import limits
from traceq.common.scratch import temporary_folder
from traceq.database.connect import connect
from traceq.database.empty import create_database
from traceq.database.publish import database_state, publish, scratch_beside
from traceq.database.user_sql import run_interruptibly
from traceq.errors import WrongUse
from traceq.reports.document import Block
from traceq.reports.goodput.compose import SCREENS, compose_goodput
from traceq.reports.renderers.goodput_to_json import goodput_to_json
from traceq.reports.renderers.to_text import WIDTH, blocks_to_text
from traceq.runs.goodput.goodput import Goodput, Terms
from traceq.runs.goodput.study_goodput import study_goodput

_SCREEN_LINES = 48


class GoodputView(View[Goodput]):
    """The goodput of a run as a document; `content` is plain data."""

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks (headings, verdicts, tables, ...), for every format."""
        return compose_goodput(self.content)

    def html_blocks(self) -> Iterable[Block]:
        """Return the blocks of the document for HTML."""
        return compose_goodput(self.content, is_page=True)

    def to_text(self, width: int = WIDTH, *, colour: bool = False) -> str:
        """Return the result as plain text for a screen of 48 lines; long tables are cut, as far as that is needed."""
        for room in SCREENS:
            text = blocks_to_text(compose_goodput(self.content, room), width, colour=colour)
            if text.count("\n") <= _SCREEN_LINES:
                break
        return text

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return goodput_to_json(self.content)


def measure_goodput(
    logs: Sequence[Path],
    monitors: Sequence[Path] = (),
    formats: Sequence[Path] = (),
    terms: Terms = Terms(),  # noqa: B008 - it is frozen
    *,
    offset: float | None = None,
    save: Path | None = None,
    writes: Sequence[Path] = (),
) -> GoodputView:
    """Read the logs of a run and say where its time went; traceq.app.api.goodput explains the parameters.

    `writes` are other files that will be written. Raises WrongUse for impossible terms and for logs that do not go together.
    """
    _check_terms(terms)
    check_writes([*writes, *([save] if save else [])], logs, beside=monitors)
    if save is None:
        with temporary_folder() as folder:
            return _make_and_study(folder / "run.duckdb", logs, monitors, formats, terms, offset)
    before = database_state(save)
    with scratch_beside(save) as folder:
        view = _make_and_study(folder / "run.duckdb", logs, monitors, formats, terms, offset)
        publish(folder / "run.duckdb", save, before)
    return view


def _check_terms(terms: Terms) -> None:
    """Raise WrongUse for numbers that cannot be."""
    for value, option in (
        (terms.gpus, "--gpus"),
        (terms.price, "--cost-per-gpu-hour"),
        (terms.ideal_step_ns, "--ideal-step"),
    ):
        if value is not None and not 0 < value < float("inf"):
            raise WrongUse(f"{option} {value}: must be more than 0.")


def _make_and_study(
    path: Path,
    logs: Sequence[Path],
    monitors: Sequence[Path],
    formats: Sequence[Path],
    terms: Terms,
    offset: float | None,
) -> GoodputView:
    """Make the database `path` from the logs, and study it."""
    from traceq.loading.run import load_run

    create_database(path)
    with closing(connect(path, read_only=False)) as connection:

        def study_run() -> Goodput:
            for note in load_run(connection, logs, monitors, formats, offset):
                limits().note(note)
            if terms.gpus is not None:
                connection.execute("update run_attempt set gpus = ?", [terms.gpus])
                connection.execute("update run_phase set gpus = ?", [terms.gpus])
            return study_goodput(connection, terms)

        found = run_interruptibly(connection, study_run)
        connection.execute("checkpoint")
    return GoodputView(found)
