"""traceq cache: show or clear the databases of traces that were read."""

from __future__ import annotations

import time

import click

from traceq.common.text import printable
from traceq.common.units import size, some

_DAY = 86_400


@click.command(short_help="Show or clear the cache of traces already read.")
@click.argument("action", type=click.Choice(("show", "clear")), default="show")
def cache(action: str) -> None:
    """Show or clear the cache of traces already read.

    A command given a trace keeps the database made from it, so that the next command need not read the trace again.
    Entries are found by the content of the traces, and only you can read them; the least recently used go first.
    TRACEQ_CACHE sets where the cache is, TRACEQ_CACHE_LIMIT its largest size (e.g. 2GiB); TRACEQ_NO_CACHE=1 or --no-cache
    turns it off.

    \b
    Examples:
      traceq cache
      traceq cache clear
    """  # noqa: D301 - click wants the backspace itself
    from traceq.app.cache import clear, list_entries
    from traceq.common.cache_folder import cache_limit, cache_path

    if action == "clear":
        removed = clear()
        freed = size(sum(entry.size for entry in removed))
        click.echo(f"{printable(str(cache_path()))}: {some(len(removed), 'entry', 'entries')} removed, {freed}")
        return
    found = list_entries()
    used = size(sum(entry.size for entry in found))
    click.echo(
        f"{printable(str(cache_path()))}: {some(len(found), 'entry', 'entries')}, {used} of at most {size(cache_limit())}"
    )
    now = time.time()
    for entry in found:
        age = max(0, int(now - entry.used)) // _DAY
        when = "today" if age == 0 else f"{some(age, 'day')} ago"
        click.echo(f"  {size(entry.size):>10}  used {when:>12}  {printable(entry.path.name)}")
