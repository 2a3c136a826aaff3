"""Files that atheris makes, guided by the lines of traceq that they reach: each ends in rows or in an error of one line.

Half of them are those of the mutators beside this file, half are changed byte by byte.

    pip install atheris
    python tests/fuzz/atheris_target.py kineto tests/fuzz/corpus -max_total_time=600
    python tests/fuzz/atheris_target.py kineto crash-0123      # files are read once; atheris is not needed
    python tests/fuzz/atheris_target.py kineto < FILE

What follows the format is libFuzzer's, but files without a folder and an option; a failure is a traceback and a file crash-*.
"""

from __future__ import annotations

import random
import sys
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]

SUFFIXES = {"kineto": ".json", "nsys": ".sqlite", "snapshot": ".pickle", "log": ".csv"}


def build_reader(format_: str) -> Callable[[bytes], None]:
    """Return a function that reads a file's content as the format's importer does, and compares it with a plain reading."""
    from attempt import read_rows

    from traceq.errors import TraceqError
    from traceq.importers.monitors import read_log

    place = Path(tempfile.mkdtemp(prefix="atheris.")) / f"t{SUFFIXES[format_]}"

    def read(content: bytes) -> None:
        place.write_bytes(content)
        try:
            told = read_rows(place) if format_ != "log" else read_log(place) and ""
        except TraceqError as error:
            told = "more than one line" if "\n" in str(error) or not str(error).strip() else ""
        if told:
            raise AssertionError(told)

    return read


def main() -> int:
    """Read what is given once, or let atheris go on."""
    if len(sys.argv) < 2 or sys.argv[1] not in SUFFIXES:
        print(f"a format first: {', '.join(SUFFIXES)}\n\n{__doc__}", file=sys.stderr)
        return 2
    format_, given = sys.argv[1], sys.argv[2:]
    files = [Path(each) for each in given]
    if all(each.is_file() for each in files) and (files or not sys.stdin.isatty()):
        read = build_reader(format_)
        for content in (each.read_bytes() for each in files) if files else (sys.stdin.buffer.read(),):
            read(content)
        return 0
    if find_spec("atheris") is None:
        print("atheris is not installed: pip install atheris, or name files to read", file=sys.stderr)
        return 2
    import atheris

    with atheris.instrument_imports(include=["traceq"], enable_loader_override=False):
        read = build_reader(format_)
        from attempt import FORMATS, mutate_kineto

        mutate_kineto.prepare()

    def change_content(content: bytes, most: int, seed: int) -> bytes:
        dice = random.Random(seed)
        made = b""
        with suppress(RecursionError):  # some are nested too deeply for what writes them
            made = FORMATS[format_](dice)[0] if dice.random() < 0.5 else b""
        return made if 0 < len(made) <= most else bytes(atheris.Mutate(content, most))

    # libFuzzer's own first files are too short for a trace
    lengths = ["-max_len=200000", "-len_control=0"]
    atheris.Setup([sys.argv[0], *lengths, *given], read, custom_mutator=change_content)
    atheris.Fuzz()
    return 0


if __name__ == "__main__":
    sys.exit(main())
