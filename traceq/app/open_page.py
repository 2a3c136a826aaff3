"""Open: a report in the browser, or a folder whose traces are reported on as they come."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from traceq.app.folder_watch import FolderWatch
from traceq.app.page_server import PageServer
from traceq.app.read_options import AS_FOUND, ReadOptions
from traceq.app.report import report
from traceq.app.source import Source, Sources
from traceq.common.files import atomic_write
from traceq.common.ranks import list_ranks
from traceq.common.scratch import temporary_folder
from traceq.errors import StoreError, TraceqError, WrongUse
from traceq.reports.model import Report
from traceq.reports.renderers.page_list import ListedTrace, render_page_list
from traceq.reports.sections.headline import find_judged_job

_PAGES = (".html", ".htm")
_SECONDS_BETWEEN_LOOKS = 2.0


def open_page(
    source: Source,
    read: ReadOptions = AS_FOUND,
    *,
    port: int = 0,
    ready: Callable[[str, str], None],
    wait: Callable[[], object] | None = None,
) -> None:
    """Serve a report on the source, or the source itself if it is a page, until `wait` returns; without one until a signal.

    Calls `ready` with the address, and the link for `start_browser`. Raises the errors of `report`, StoreError for a page that
    is missing, WrongUse for options that a page has no use for.
    """
    with temporary_folder() as folder, PageServer(port) as server:
        page = Path(source)
        if page.suffix.lower() in _PAGES:
            _check_page(page, read)
        else:
            page = folder / "report.html"
            report(source, read=read).save(page)
        server.publish("", page)
        ready(server.address, server.link)
        (wait or threading.Event().wait)()


def watch_folder(
    source: Source,
    read: ReadOptions = AS_FOUND,
    *,
    port: int = 0,
    ready: Callable[[str, str], None],
    say: Callable[[str], None],
    wait: Callable[[], object] | None = None,
) -> None:
    """Serve a list of the folder's traces with a report on each, and look for more every other second, until a signal.

    `wait` is called between two looks instead of sleeping. Calls `ready` with the address, and the link for
    `start_browser`, and `say` with a line on each trace: its verdict, or why it cannot be read. Raises WrongUse for what
    is no folder.
    """
    watched = Path(source)
    if not watched.is_dir():
        raise WrongUse(
            f"--watch follows a folder of traces, and {source} is not a folder: name one, or leave --watch out."
        )
    wait = wait or partial(time.sleep, _SECONDS_BETWEEN_LOOKS)
    with temporary_folder() as folder, PageServer(port) as server:
        watch, pages = FolderWatch(watched), _ReportList(watched, folder, server, read)
        server.publish("", pages.write_list())
        ready(server.address, server.link)
        while True:
            new = watch.find_new()
            # ranks are judged together once no more of them come
            for line in map(pages.add_trace, new) if new else pages.add_jobs():
                say(line)
            wait()


class _ReportList:
    """The list of reports on the traces of the folder `watched`, with one on the ranks of a job together; pages go to `pages`."""

    def __init__(self, watched: Path, pages: Path, server: PageServer, read: ReadOptions) -> None:
        self._watched, self._pages, self._server, self._read = watched, pages, server, read
        self._names: dict[Path, str] = {}
        self._listed: dict[Path, ListedTrace] = {}
        self._ranks: dict[Path, int] = {}
        # the traces of each folder whose ranks were judged together
        self._joined: dict[Path, list[Path]] = {}

    def write_list(self) -> Path:
        """Write the list, the last report first, and return its path."""
        index = self._pages / "index.html"
        with atomic_write(index) as file:
            file.write(render_page_list(str(self._watched), list(reversed(self._listed.values()))).encode())
        return index

    def add_trace(self, path: Path) -> str:
        """Report on a new or changed trace, and return a line on it."""
        self._ranks.pop(path, None)
        self._joined.pop(path.parent, None)
        row, content = self._report_on(path, path, str(path.relative_to(self._watched)))
        if content is not None and len(content.traces) == 1 and content.traces[0].trace.rank is not None:
            self._ranks[path] = content.traces[0].trace.rank
        return self._add_row(path, row)

    def add_jobs(self) -> Iterator[str]:
        """Report on the ranks of one job in each folder together, if they are new or changed, and yield a line on each job."""
        # the last trace of each rank: a run may write many windows into one folder
        folders: dict[Path, dict[int, Path]] = {}
        for path, rank in self._ranks.items():
            if path.exists():
                folders.setdefault(path.parent, {})[rank] = path
        for folder, ranks in folders.items():
            paths = sorted(ranks.values())
            if len(ranks) == 1 or self._joined.get(folder) == paths:
                continue
            self._joined[folder] = paths
            below = "" if folder == self._watched else f"{folder.relative_to(self._watched)}: "
            shown = f"{below}{list_ranks(sorted(ranks))} together"
            row, content = self._report_on(folder, paths, shown)
            if content is None or find_judged_job(content) is not None:
                yield self._add_row(folder, row)
            elif self._listed.pop(folder, None):
                self.write_list()

    def _report_on(self, place: Path, sources: Sources, shown: str) -> tuple[ListedTrace, Report | None]:
        """Write the report on the sources, and return its row of the list and its content; without link and content on errors."""
        name = self._names.setdefault(place, str(len(self._names) + 1))
        try:
            view = report(sources, read=self._read)
            view.save(self._pages / f"{name}.html")
        except TraceqError as error:
            return ListedTrace(shown, str(error), None), None
        except (MemoryError, OSError) as error:
            return ListedTrace(shown, f"no report could be made: {str(error) or 'out of memory'}", None), None
        return ListedTrace(shown, view.verdict, name), view.content

    def _add_row(self, place: Path, row: ListedTrace) -> str:
        """Serve the row's page, put it on top of the list, and return it as a line."""
        if row.link:
            self._server.publish(row.link, self._pages / f"{row.link}.html")
        self._listed.pop(place, None)
        self._listed[place] = row
        self.write_list()
        return f"{place}: {row.words}" if row.link else row.words


def _check_page(page: Path, read: ReadOptions) -> None:
    """Raise StoreError for a page that is missing, and WrongUse for options on how traces are read."""
    if not page.is_file():
        raise StoreError(f"{page}: no such page; write one: traceq report TRACE -o {page}")
    if read.choice_texts or read.capture or read.inductor or read.logs:
        raise WrongUse(f"{page} is a page, whose steps are fixed: name the trace to choose other steps.")


def start_browser(link: str) -> None:
    """Open the link in the user's browser, where there is one with windows. It goes on when this process ends.

    A browser that is started here is the child of a process that soon ends: signals to traceq do not reach it. Other users can
    read its arguments.
    """
    has_windows = sys.platform in ("darwin", "win32") or any(
        map(os.environ.get, ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"))
    )
    if not has_windows:
        return
    # as for find_tool: no program of a folder that depends on the current one
    folders = filter(os.path.isabs, os.environ.get("PATH", os.defpath).split(os.pathsep))
    environment = {**os.environ, "PATH": os.pathsep.join(folders)}
    command = [sys.executable, "-I", "-m", "webbrowser", link]
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
