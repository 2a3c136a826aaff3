"""traceq rules test: how right rules are on traces of one's own, by their labels or by predictions that were checked."""

from __future__ import annotations

import os
from pathlib import Path

import click

from traceq.cli._options import FILE, explicit_options, print_note
from traceq.common.text import printable

# Each is a measurement of its own; the others are options of --blind, but for --output.
_MEASUREMENTS = ("blind", "causes", "calibration")


@click.command("test", short_help="Test the rules against traces whose bottleneck is known.")
@click.option(
    "--blind",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Use the traces in FOLDER: freeze what traceq says of them first, and grade it once there are labels.",
)
@click.option(
    "--again",
    metavar="NAME",
    help="With --blind: freeze, then grade, a second set next to the first, e.g. by a newer traceq; it is not blind.",
)
@click.option("--causes", is_flag=True, help="Only show what a label looks like, and the causes it can name.")
@click.option(
    "--calibration",
    type=FILE,
    metavar="FILE",
    help="Only show how right each rule was in FILE, checked predictions such as traceq verify --append writes.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="With --blind: processes that read a trace.  [default: one per CPU]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the page to FILE instead of printing it.",
)
def test_rules(
    blind: Path | None,
    again: str | None,
    calibration: Path | None,
    jobs: int | None,
    output: Path | None,
    *,
    causes: bool,
) -> None:
    """Test the rules against your own traces whose bottleneck is known.

    With --blind FOLDER, the first run judges every trace in FOLDER and freezes the results in FOLDER/blind, which it never
    overwrites. Then read the raw files, and write FOLDER/labels/NAME.json for each trace. The second run grades the frozen
    results by these labels: it writes a page, and FOLDER/blind/graded.json with the findings by rule.

    With --calibration nothing is run: the checked predictions show how right each rule was, what it missed, and which
    shares of claimed time they support.

    Exit status: 0 traces were frozen or graded, whatever the grades; 1 a label cannot be used, there is none yet, or a
    trace was changed after it was frozen.

    \b
    Examples:
      traceq rules test --blind traces/               # freeze; then write traces/labels/*.json
      traceq rules test --causes                      # what a label is
      traceq rules test --blind traces/ -o page.md    # grade
    """  # noqa: D301 - click wants the backspace itself
    if len(given := explicit_options(*_MEASUREMENTS)) > 1:
        raise click.UsageError(f"{given[0]} cannot be combined with {given[1]}.")
    if causes:
        from traceq.reports.blind import label_help

        if clash := explicit_options("again", "jobs", "output"):
            raise click.UsageError(f"{', '.join(clash)} cannot be combined with --causes.")
        click.echo("\n".join(label_help()))
    elif calibration is not None:
        from traceq.reports.calibration import calibration_section
        from traceq.runs.verify.calibration import read

        if clash := explicit_options("again", "jobs"):
            raise click.UsageError(f"{', '.join(clash)} cannot be combined with --calibration.")
        _write_page("\n".join(calibration_section(list(read(calibration)))), output)
    elif blind is not None:
        _freeze_or_grade(blind, again, jobs, output)
    elif again is not None:
        raise click.UsageError("--again makes a second set for --blind FOLDER: give that, too.")
    else:
        raise click.UsageError(
            "Give --blind FOLDER, --causes or --calibration FILE. In a checkout of traceq, python tools/accuracy.py tests the"
            " labelled traces."
        )


def _freeze_or_grade(folder: Path, again: str | None, jobs: int | None, output: Path | None) -> None:
    """Judge the traces in the folder and freeze the results, or grade them by the labels if they are frozen already.

    `again` names a later set that is not blind.
    """
    from traceq.app.blind.folder import place_of
    from traceq.app.blind.freeze import freeze, is_frozen
    from traceq.app.blind.grade import measure
    from traceq.common.limits import Limits, within
    from traceq.reports.blind import next_steps

    if not is_frozen(folder, again):
        with within(Limits(jobs=jobs or os.cpu_count() or 1, note=print_note)):
            frozen = freeze(folder, again, lambda name: click.echo(f"judging {printable(name)}", err=True))
        for line in next_steps(folder, place_of(folder, again), frozen):
            click.echo(printable(line))
        return
    found = measure(folder, again)
    _write_page(found.page, output)
    print_note(f"{found.record}: the findings by rule")
    if found.unseen:
        print_note(
            f"not graded, as they came after the others were frozen: {', '.join(found.unseen)};"
            " --again NAME freezes all, but not blind"
        )


def _write_page(page: str, output: Path | None) -> None:
    """Write the page to the file `output`, or print it if that is None."""
    if output is None:
        click.echo(page, nl=False)
    else:
        from traceq.common.files import atomic_write

        with atomic_write(output) as file:
            file.write(page.encode())
        click.echo(f"{output}: written")
