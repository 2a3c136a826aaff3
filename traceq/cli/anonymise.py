"""traceq anonymise: a trace that names nobody."""

from __future__ import annotations

from pathlib import Path

import click

from traceq.cli import completion
from traceq.cli._options import force_option, output_option
from traceq.common.text import printable


@click.command(short_help="Write a copy of a trace without private names.")
@click.argument("source", metavar="TRACE", shell_complete=completion.complete_files)
@output_option
@click.option(
    "--seed",
    metavar="TEXT",
    help="Derive pseudonyms from this; give all files of a job the same seed. [default: random]",
)
@force_option
def anonymise(*, source: str, output: Path | None, seed: str | None, force: bool) -> None:
    """Write a copy of a trace without private names.

    TRACE is a trace of the PyTorch profiler or an export of nsys. Names of kernels, operators and CUDA functions stay, as
    do times, sizes and the words by which traceq recognises annotations. Every other word in a name becomes a pseudonym;
    paths, hosts, users, environments, command lines and unknown arguments are removed. What was removed is listed.

    \b
    Examples:
      traceq anonymise profile.pt.trace.json.gz -o shared.json.gz
      traceq anonymise report.sqlite -o shared.sqlite
    """  # noqa: D301 - click wants the backspace itself
    if output is None:
        raise click.UsageError("Name the file to write: -o FILE.")
    from traceq.app.anonymise import anonymise as write_anonymous

    written = write_anonymous(source, output, seed=seed, force=force)
    click.echo(printable(f"{written.path}: {written.records:,} records, {output.stat().st_size:,} bytes"))
    for title, counts in (("replaced", written.replaced), ("removed", written.removed)):
        for kind, count in sorted(counts.items(), key=lambda each: (-each[1], each[0])):
            click.echo(printable(f"  {title:8} {count:>9,}  {kind}"))
