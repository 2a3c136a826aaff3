"""traceq upgrade: a trace database of an older version of traceq brought up to date."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli._options import memory_option, within_limits
from traceq.common.text import printable


@click.command(short_help="Bring a database made by an older traceq up to date.")
@click.argument("database", metavar="DB", type=click.Path(path_type=Path))
@click.option(
    "-o", "--output", type=click.Path(path_type=Path), metavar="NEW", help="Write to this new file; DB stays as it is."
)
@memory_option
@within_limits
def upgrade(*, database: Path, output: Path | None) -> None:
    """Bring a trace database of an older version of traceq up to date.

    The tables of DB are changed to those of this version; the traces are not needed. Readers see the old database or the
    new one; an upgrade that fails or is interrupted leaves the old one. Afterwards the rules run again, as after an
    ingest.

    \b
    Examples:
      traceq upgrade profile.duckdb
      traceq upgrade profile.duckdb -o profile-new.duckdb
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.upgrade import upgrade as bring_up_to_date

    done = bring_up_to_date(database, output)
    if done.not_judged is not None:
        click.echo(printable(f"traceq: note: every report will run the rules again: {done.not_judged}"), err=True)
    if not done.is_changed:
        click.echo(printable(f"{database}: has schema version {done.before} already, nothing to do"))
    else:
        click.echo(printable(f"{done.database}: schema version {done.after}, was {done.before}"))
