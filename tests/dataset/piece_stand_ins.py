"""Stand-ins for make_piece, which workers import: some of them end their worker. And what waits for them."""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path

from traceq.dataset.piece import make_piece

# In the folder of the traces: how many workers rank N still ends, in the file ends-N.
_ENDS = "ends-{}"


def ends(folder, rank, times):
    """Let a rank end so many of the workers that read it."""
    (folder / _ENDS.format(rank)).write_text("x" * times)


def left(folder, rank):
    """Return how many workers the rank has yet to end."""
    return (folder / _ENDS.format(rank)).stat().st_size


def deadly(task):
    """The piece, but for ranks of `ends`, whose worker is killed when the piece is written for the most part."""
    path = task.build.source.path
    file = path.parent / _ENDS.format(path.stem.removeprefix("rank"))
    if file.exists() and file.stat().st_size:
        os.truncate(file, file.stat().st_size - 1)
        make_piece(task)
        # as it is while it is written
        made = Path(task.place.path(task.folder))
        (made / "piece.json").unlink()
        made.rename(made.with_name(f"{made.name}.{os.getpid()}"))
        os.kill(os.getpid(), signal.SIGKILL)
    return make_piece(task)


def faulty(task):
    """Fail as a defect of traceq itself would."""
    raise KeyError(task.build.source.path.name)


def slow(task):
    """The piece, but of rank 3, which takes as long as there is no file `go` beside it, and tells its process in `began`."""
    path = task.build.source.path
    if path.stem in ("rank3", "rank3.json"):
        began = path.parent / "began"
        began.with_suffix(".part").write_text(str(os.getpid()))
        began.with_suffix(".part").rename(began)
        for _ in range(1200):
            if (path.parent / "go").exists():
                break
            time.sleep(0.05)
    return make_piece(task)


def until(holds):
    for _ in range(600):
        if holds():
            return
        time.sleep(0.1)
    raise AssertionError(holds)
