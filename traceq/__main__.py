"""The program `traceq`, also as `python -m traceq`."""

import os
import sys

from traceq.common import streams

_HELP = os.path.join(os.path.dirname(__file__), "cli", "help.txt")  # noqa: PTH118, PTH120 - pathlib takes 3 ms to load
# Help is never wider than this.
_WIDTH = 80


def run() -> None:
    """Run the command that the arguments name.

    Signals end the program in an orderly way, during imports too, unless it only prints its help.
    """
    is_open = sys.stdout is not None
    streams.replace_closed()
    if is_open and sys.argv[1:] in (["--help"], ["-h"]) and _print_help():
        return
    from traceq.common import signals

    signals.end_on_signals()
    from traceq.cli import run

    run()


def _print_help() -> bool:
    """Print the help of traceq as click makes it for 80 columns; return False where it would be another, or on a failure.

    It stands in a file, as loading click takes twice as long as all else that printing it needs.
    """
    if not {"COLUMNS", "_TRACEQ_COMPLETE"}.isdisjoint(os.environ):
        return False
    try:
        if sys.stdout.isatty() and os.get_terminal_size(sys.stdout.fileno()).columns < _WIDTH:
            return False
        with open(_HELP, encoding="utf-8") as file:  # noqa: PTH123 - as above
            text = file.read()
        sys.stdout.write(text)
        sys.stdout.flush()
    except OSError:
        return False  # click says it in its words
    return True


if __name__ == "__main__":
    run()
