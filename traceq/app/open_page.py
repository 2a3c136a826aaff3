"""Open: a report in the browser, or a folder whose traces are reported on as they come."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from traceq.app.folder_watch import FolderWatch
from traceq.app.page_server import PageServer
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.report import report
from traceq.app.source import Source
from traceq.common.files import atomic_write
from traceq.common.scratch import temporary_folder
from traceq.errors import StoreError, TraceqError, WrongUse
from traceq.reports.renderers.page_list import ListedTrace, render_page_list

_PAGES = (".html", ".htm")
_SECONDS_BETWEEN_LOOKS = 2.0


def open_page(
    source: Source,
    read: ReadOptions = AS_FOUND,
    *,
    port: int = 0,
    ready: Callable[[str], None],
    wait: Callable[[], object] | None = None,
) -> None:
    """Serve a report on the source, or the source itself if it is a page, until `wait` returns; without one until a signal.

    Calls `ready` with the address. Raises the errors of `report`, StoreError for a page that is missing, WrongUse for
    options that a page has no use for.
    """
    with temporary_folder() as folder, PageServer(port) as server:
        page = Path(source)
        if page.suffix.lower() in _PAGES:
            _check_page(page, read)
        else:
            page = folder / "report.html"
            report(source, read=read).save(page)
        server.publish("", page)
        ready(server.address)
        (wait or threading.Event().wait)()


def watch_folder(
    source: Source,
    read: ReadOptions = AS_FOUND,
    *,
    port: int = 0,
    ready: Callable[[str], None],
    say: Callable[[str], None],
    wait: Callable[[], object] | None = None,
) -> None:
    """Serve a list of the folder's traces with a report on each, and look for more every other second, until a signal.

    `wait` is called between two looks instead of sleeping. Calls `ready` with the address, and `say` with a line on each
    trace: its verdict, or why it cannot be read. Raises WrongUse for what is no folder.
    """
    watched = Path(source)
    if not watched.is_dir():
        raise WrongUse(
            f"--watch follows a folder of traces, and {source} is not a folder: name one, or leave --watch out."
        )
    wait = wait or partial(time.sleep, _SECONDS_BETWEEN_LOOKS)
    with temporary_folder() as folder, PageServer(port) as server:
        names: dict[Path, str] = {}
        listed: dict[Path, ListedTrace] = {}
        watch, index = FolderWatch(watched), folder / "index.html"
        _write_list(index, source, listed)
        server.publish("", index)
        ready(server.address)
        while True:
            for path in watch.find_new():
                name = names.setdefault(path, str(len(names) + 1))
                trace = _report_on(path, watched, folder / f"{name}.html", name, read)
                if trace.link:
                    server.publish(name, folder / f"{name}.html")
                listed.pop(path, None)
                listed[path] = trace
                _write_list(index, source, listed)
                say(f"{path}: {trace.words}" if trace.link else trace.words)
            wait()


def _report_on(path: Path, watched: Path, page: Path, name: str, read: ReadOptions) -> ListedTrace:
    """Write the report on the trace to `page`, and return its row of the list, without a link if it cannot be read."""
    shown = str(path.relative_to(watched))
    try:
        view = report(path, read=read)
        view.save(page)
    except TraceqError as error:
        return ListedTrace(shown, str(error), None)
    except (MemoryError, OSError) as error:
        return ListedTrace(shown, f"no report could be made: {str(error) or 'out of memory'}", None)
    return ListedTrace(shown, view.verdict, name)


def _write_list(page: Path, source: Source, listed: dict[Path, ListedTrace]) -> None:
    """Write the list of traces, the last one first."""
    with atomic_write(page) as file:
        file.write(render_page_list(str(source), list(reversed(listed.values()))).encode())


def _check_page(page: Path, read: ReadOptions) -> None:
    """Raise StoreError for a page that is missing, and WrongUse for options on how traces are read."""
    if not page.is_file():
        raise StoreError(f"{page}: no such page; write one: traceq report TRACE -o {page}")
    if read.step_texts or read.capture or read.inductor:
        raise WrongUse(f"{page} is a page, whose steps are fixed: name the trace to choose other steps.")


def start_browser(address: str) -> None:
    """Open the address in the user's browser, where there is one with windows. It goes on when this process ends.

    A browser that is started here is the child of a process that soon ends: signals to traceq do not reach it.
    """
    has_windows = sys.platform in ("darwin", "win32") or any(
        map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    )
    if not has_windows:
        return
    # as for find_tool: no program of a folder that depends on the current one
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    environment = {**os.environ, "PATH": os.pathsep.join(folders)}
    command = [sys.executable, "-I", "-m", "webbrowser", address]
    nothing = subprocess.DEVNULL
    started = partial(
        subprocess.run,
        command,
        stdin=nothing,
        stdout=nothing,
        stderr=nothing,
        env=environment,
        start_new_session=True,
        check=False,
    )
    threading.Thread(target=started, daemon=True).start()
