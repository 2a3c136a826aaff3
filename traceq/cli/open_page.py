"""traceq open: a report in the browser, and reports on the traces of a folder as they come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from traceq.cli import completion
from traceq.cli._options import read_options_with_logs
from traceq.common.text import printable

if TYPE_CHECKING:
    from traceq.app.read_options import ReadOptions


@click.command("open", short_help="Show a report in the browser, or follow a folder of traces.")
@click.argument("source", metavar="SOURCE_OR_PAGE", shell_complete=completion.complete_files)
@click.option("--watch", is_flag=True, help="Follow a folder: list its traces, and report on new ones as they come.")
@click.option("--browser/--no-browser", default=True, help="Start the browser, or just print the address.")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=0, metavar="N", help="Listen on this port.  [default: a free one]"
)
@read_options_with_logs
def open_page(*, source: str, watch: bool, browser: bool, port: int, read: ReadOptions) -> None:
    """Show a report in the browser, or follow a folder of traces.

    SOURCE_OR_PAGE is what `traceq report` reads, or a page that it wrote (FILE.html). The page is served to this machine
    only (127.0.0.1), under an address with a random word in it, until Ctrl-C. With --watch the page lists the traces in a
    folder, with a report on each, and more appear as a training run writes them: a file is read once it stops growing.
    Broken files are reported on stderr, one line each.

    The address is printed on stdout. On another machine: ssh -L 8000:127.0.0.1:8000 HOST, then traceq open --port 8000.

    \b
    Examples:
      traceq open profile.sqlite
      traceq open report.html
      traceq open runs/today --watch --no-browser
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.open_page import open_page as serve_page
    from traceq.app.open_page import start_browser, watch_folder

    def show_address(address: str, link: str) -> None:
        click.echo(address)
        click.echo("traceq: Ctrl-C ends this", err=True)
        if browser:
            start_browser(link)

    if watch:
        watch_folder(
            source,
            read,
            port=port,
            ready=show_address,
            say=lambda line: click.echo(f"traceq: {printable(line)}", err=True),
        )
    else:
        serve_page(source, read, port=port, ready=show_address)
