"""traceq rules test: the rules against traces whose bottleneck is known, in a checkout of traceq."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import click

from traceq.cli._options import FILE, REGEX

_FOLDERS = ("tests", "fixtures/make")


@click.command("test", short_help="Test the rules against traces whose bottleneck is known.")
@click.option(
    "--checkout",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=Path(),
    metavar="DIR",
    help="Checkout of traceq, which holds the labelled traces.  [default: the current directory]",
)
@click.option("--only", type=REGEX, help="Only cases whose names match.")
@click.option("--jobs", type=click.IntRange(min=1), metavar="N", help="Cases at a time.  [default: one per CPU]")
@click.option(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the table to FILE instead of printing it, e.g. docs/accuracy.md.",
)
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
) -> None:
    """Test the rules against traces whose bottleneck is known.

    Labelled are: a positive and a negative case of every rule; simulated training loops in both formats, with one
    bottleneck, with two, and healthy ones; with --real real traces, where they lie beside the checkout. Says how often
    the first finding is the right one, how many findings are true, how many bottlenecks are found, and how far the
    predicted savings are from what taking the cause out really wins. Takes some minutes.

    With --calibration or --fit nothing is run: predictions that were checked say how right each rule was, its misses, and which
    shares of claimed time they support.

    Exit status 1 when a rule breaks, a case of a rule ends otherwise than it says, or reports of real traces are less
    often right than they were.
    """
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


def _write(page: str, output: Path | None) -> None:
    if output is None:
        click.echo(page, nl=False)
    else:
        output.write_text(page, "utf-8")
        click.echo(f"{output}: written")
