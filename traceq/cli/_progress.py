"""The progress bar of an ingest: bytes, rows a second, time left; on stderr, gone when done."""

from __future__ import annotations

import click
import rich.progress as bars
from rich.console import Console


class Bar:
    """A traceq.loading.Progress that draws a bar."""

    def __init__(self) -> None:
        self._bar = bars.Progress(
            bars.BarColumn(),
            bars.DownloadColumn(),
            bars.TextColumn("{task.fields[rate]}"),
            bars.TimeRemainingColumn(),
            console=Console(stderr=True),
            transient=True,
        )

    def start(self, total_bytes: int) -> None:
        """Show the bar; `total_bytes` fill it."""
        self._task = self._bar.add_task("ingest", total=total_bytes, rate="")
        self._bar.start()

    def advance(self, read_bytes: int, rows: int) -> None:
        """Fill it to `read_bytes`; `rows` in all so far give the rate."""
        elapsed = self._bar.tasks[self._task].elapsed
        rate = f"{rows / elapsed:,.0f} rows/s" if elapsed else ""
        self._bar.update(self._task, completed=read_bytes, rate=rate)

    def judge(self) -> None:
        """Say that it is not over yet."""
        self._bar.stop()
        click.echo("asking the rules ...", err=True)

    def finish(self) -> None:
        """Take the bar away."""
        self._bar.stop()
