"""Where benchmarks find their sources and keep their big files, and the options they share."""

from __future__ import annotations

import argparse
import compileall
import tempfile
from collections.abc import Callable
from pathlib import Path

from measure import ROOT, tell

TRACES = ROOT.parent / "shared" / "traces"
CHROME = TRACES / "torch" / "hta_trace_diff_control.json.gz"
NSYS = TRACES / "nsys" / "nsysai_mfu_2gpu_before.sqlite"
_SQLITE = b"SQLite format 3\x00"


def options(doc: str | None, source: Path | None = None, times: int | None = None) -> argparse.ArgumentParser:
    """A parser with --work, and with --source and --times where they have a default."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    work = Path(tempfile.gettempdir()) / "traceq-benchmarks"
    parser.add_argument("--work", type=Path, default=work, metavar="DIR", help="folder for big files")
    if source:
        parser.add_argument("--source", type=_file, default=source, metavar="TRACE", help="trace to grow")
    if times:
        parser.add_argument("--times", type=int, default=times, metavar="N", help="runs of each command")
    return parser


def add_checkouts(parser: argparse.ArgumentParser) -> None:
    """Add --checkout, which can be given several times."""
    said = "traceq to run instead of this one; several are compared in the same turns"
    parser.add_argument("--checkout", type=checkout, action="append", metavar="DIR", help=said)


def checkout(text: str | Path) -> Path:
    """The folder of a checkout of traceq, whose modules are compiled now."""
    path = Path(text).resolve()
    if not (path / "traceq" / "__main__.py").is_file():
        raise argparse.ArgumentTypeError(f"{path}: no checkout of traceq")
    compileall.compile_dir(path / "traceq", quiet=1)
    return path


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{path}: no such file")
    return path.resolve()


def grown(source: Path, work: Path, name: str, make: Callable[[Path], object]) -> Path:
    """The grown trace `name`, made with `make` unless an earlier run has left it in `work`."""
    if not source.is_file():
        raise SystemExit(f"{source}: no such file; name a trace with --source")
    work.mkdir(parents=True, exist_ok=True)
    path = work / name
    if not path.exists():
        tell(f"growing {source.name} to {path}")
        part = path.with_name(f"{path.name}.part")
        try:
            make(part)
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
    return path


def stem(source: Path) -> str:
    """The name of a source up to its first dot."""
    return source.name.split(".", 1)[0]


def is_sqlite(path: Path) -> bool:
    """Whether a trace is an nsys export that is not compressed."""
    with path.open("rb") as file:
        return file.read(len(_SQLITE)) == _SQLITE
