"""traceq log: what was found and tried of a program, what it won, and what was rejected."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import document_options
from traceq.cli._output import write_view
from traceq.common.text import printable

if TYPE_CHECKING:
    from traceq.runs.program_log import Decision


@click.command(short_help="Show what was tried, what it won, and what was rejected.")
@click.argument(
    "folders", metavar="[DIR]...", nargs=-1, type=click.Path(path_type=Path), shell_complete=completion.complete_files
)
@click.option("--keep", metavar="FINDING", help="Decide: the fix of FINDING (F2, an id or a rule) is kept.")
@click.option("--reject", metavar="FINDING", help="Decide: FINDING is not fixed, or its fix is not kept.")
@click.option("--because", metavar="TEXT", help="With --keep or --reject: why.")
@click.option("--note", metavar="TEXT", help="Add a note.")
@document_options()
def log(
    *,
    folders: tuple[Path, ...],
    keep: str | None,
    reject: str | None,
    because: str | None,
    note: str | None,
    output: Path | None,
    format_: str,
) -> None:
    """Show what was found and tried of a program, what it won against what was predicted, and what was rejected and why.

    `traceq record` and `traceq experiment` write traceq-log.jsonl in their folder, `traceq verify --log DIR` in DIR. Reads
    the logs in DIR and one folder below. [default: here] Markdown and HTML are for a pull request: they name
    files without folders, and hide users and what looks like a secret; names of the program's functions stay.

    \b
    Examples:
      traceq log
      traceq log --reject F2 --because "pin_memory: the loss changed"
      traceq log traces experiment --format md
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.program_log import add_decision, show_log

    places = folders or (Path(),)
    given = [text for text in (keep, reject, note) if text is not None]
    if because is not None and keep is None and reject is None:
        raise click.UsageError(
            "--because says why something is kept or rejected: give --keep or --reject, or use --note."
        )
    if len(given) > 1:
        raise click.UsageError("Give one of --keep, --reject and --note at a time.")
    if not given:
        write_view(show_log(places), format_, output)
        return
    if reject is not None and not because:
        raise click.UsageError(f"Say why: traceq log --reject {reject} --because TEXT")
    decision: Decision | None = None if note is not None else "keep" if keep is not None else "reject"
    file, entry = add_decision(places, keep or reject, decision, note or because or "")
    what = {"keep": "kept", "reject": "rejected"}.get(entry.decision or "", "noted")
    about = f"{entry.title} ({entry.finding_id}) {what}" if entry.finding_id else what
    why = f": {entry.reason}" if entry.reason else ""
    click.echo(printable(f"{file}: {about}{why}"))
