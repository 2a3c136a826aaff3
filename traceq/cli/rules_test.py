"""traceq rules test: the rules against traces whose bottleneck is known: those of a checkout of traceq, or one's own."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from traceq.cli._options import FILE, REGEX, explicit_options, note
from traceq.common.text import printable

_FOLDERS = ("tests", "fixtures/make")
# Parameters that say nothing of traces of one's own.
_OF_A_CHECKOUT = ("checkout", "only", "real", "sensitivity", "calibration", "fit")


@click.command("test", short_help="Test the rules against traces whose bottleneck is known.")
@click.option(
    "--checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Checkout of traceq, which holds the labelled traces.  [default: the current directory]",
)
@click.option("--only", type=REGEX, help="Only cases whose names match.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Cases at a time; with --blind processes that read a trace.  [default: one per CPU]",
)
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the table to FILE instead of printing it, e.g. docs/accuracy.md.",
)
@click.option(
    "--blind",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Your own traces: first freeze what is said of those in FOLDER, once there are labels grade it. Takes no checkout.",
)
@click.option(
    "--again",
    metavar="NAME",
    help="With --blind: freeze, then grade, a second set beside the first, e.g. of a newer traceq; it is not blind.",
)
@click.option("--causes", is_flag=True, help="Only show what a label is, and the words for causes that it may have.")
@click.option(
    "--real", is_flag=True, help="Only real traces, against what people said of them; fails when it is worse."
)
@click.option(
    "--sensitivity", is_flag=True, help="With --real: which first findings change with thresholds. Takes long."
)
@click.option(
    "--calibration",
    type=FILE,
    metavar="FILE",
    help="Only the checked predictions in FILE, e.g. of traceq verify --append: how right each rule was. Takes no checkout.",
)
@click.option(
    "--fit",
    is_flag=True,
    help="Only write what docs/calibration.jsonl says: the shares that rules use, and the section of docs/accuracy.md.",
)
def test_rules(
    checkout: Path,
    only: str | None,
    jobs: int | None,
    output: Path | None,
    calibration: Path | None,
    *,
    real: bool,
    sensitivity: bool,
    fit: bool,
    blind: Path | None,
    again: str | None,
    causes: bool,
) -> None:
    """Test the rules against traces whose bottleneck is known.

    Labelled are: a positive and a negative case of every rule; simulated training loops in both formats, with one
    bottleneck, with two, and healthy ones; with --real real traces, where they lie beside the checkout. Says how often
    the first finding is the right one, how many findings are true, how many bottlenecks are found, and how far the
    predicted savings are from what taking the cause out really wins. Takes some minutes.

    With --calibration or --fit nothing is run: predictions that were checked say how right each rule was, its misses, and which
    shares of claimed time they support.

    With --blind FOLDER traces of your own are measured. The first run judges every trace in FOLDER and freezes what is said
    of it in FOLDER/blind, which is never made again. Read the raw files then, and write FOLDER/labels/NAME.json for each trace.
    The second run grades what was frozen by these labels: a page, and FOLDER/blind/graded.json with the findings by rule.

    Exit status 1 when a rule breaks, a case of a rule ends otherwise than it says, or reports of real traces are less
    often right than they were. With --blind 0 when traces were frozen or graded, whatever the grades; 1 when a label cannot be
    used, there is none yet, or a trace was changed after it was frozen.

    \b
    Examples:
      traceq rules test --blind traces/               # freeze; then write traces/labels/*.json
      traceq rules test --causes                      # what a label is
      traceq rules test --blind traces/ -o page.md    # grade
    """  # noqa: D301 - click wants the backspace itself
    if blind is not None or again is not None or causes:
        _measure_own(blind, again, jobs, output, causes=causes)
        return
    from traceq.app.calibration import calibration_page, write_fit

    if calibration is not None:
        _write(calibration_page(calibration), output)
        return
    if fit:
        for path in write_fit(checkout):
            click.echo(f"{path}: written")
        return
    from traceq.errors import NoTraces

    folders = [(checkout / name).resolve() for name in _FOLDERS]
    if not all((folder).is_dir() for folder in folders) or not (folders[0] / "labelled").is_dir():
        raise NoTraces(
            f"{checkout.resolve()}: no labelled traces; run this in a checkout of traceq, or name it with --checkout"
        )
    sys.path[:0] = [str(folder) for folder in folders]
    from labelled import accuracy_page  # type: ignore[import-not-found]

    jobs = jobs or os.cpu_count() or 1
    if real:
        page, broken = accuracy_page.of_real_traces(only, jobs, sensitivity=sensitivity, keeps=output is not None)
    else:
        page, broken = accuracy_page.written(only, jobs)
    _write(page, output)
    if broken:
        click.echo("\n".join(broken), err=True)
        raise SystemExit(1)


def _measure_own(blind: Path | None, again: str | None, jobs: int | None, output: Path | None, *, causes: bool) -> None:
    """Show what labels are, or measure traces of one's own."""
    if clash := explicit_options(*_OF_A_CHECKOUT, *(("blind", "again", "jobs", "output") if causes else ())):
        raise click.UsageError(f"{', '.join(clash)}: not together with {'--causes' if causes else '--blind'}.")
    if causes:
        from traceq.reports.blind import label_help

        for line in label_help():
            click.echo(line)
    elif blind is None:
        raise click.UsageError("--again is a second set of a measurement: say --blind FOLDER.")
    else:
        _freeze_or_grade(blind, again, jobs, output)


def _freeze_or_grade(folder: Path, again: str | None, jobs: int | None, output: Path | None) -> None:
    """Freeze what is said of the traces in the folder; where that is done, grade it."""
    from traceq.app.blind.folder import place_of
    from traceq.app.blind.freeze import freeze, is_frozen
    from traceq.app.blind.grade import measure
    from traceq.common.limits import Limits, within
    from traceq.reports.blind import next_steps

    if not is_frozen(folder, again):
        with within(Limits(jobs=jobs or os.cpu_count() or 1, note=note)):
            frozen = freeze(folder, again, lambda name: click.echo(f"judging {printable(name)}", err=True))
        for line in next_steps(folder, place_of(folder, again), frozen):
            click.echo(printable(line))
        return
    found = measure(folder, again)
    _write(found.page, output)
    note(f"{found.record}: the findings by rule")
    if found.unseen:
        note(
            f"came after the others were frozen, not graded: {', '.join(found.unseen)}; --again NAME freezes all, not blind"
        )


def _write(page: str, output: Path | None) -> None:
    if output is None:
        click.echo(page, nl=False)
    else:
        output.write_text(page, "utf-8")
        click.echo(f"{output}: written")
