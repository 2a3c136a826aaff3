"""How traceq starts child processes of its own.

Plain subprocesses, not multiprocessing: a spawned multiprocessing child runs the user's main script again, which a library
must not ask its callers to guard against, and a forked one inherits locks of DuckDB's and Arrow's threads.
"""

from __future__ import annotations

import sys


def command(module: str) -> list[str]:
    """The command that calls main() of `module` in a child with the same sys.path.

    Not `python -m`: that puts the current directory first, where a file of the user's may be named like a library.
    """
    program = (
        f"import sys; sys.path[:] = {sys.path!r};"
        # Ctrl-C reaches the whole group: it is for the parent to stop its children.
        " import signal; signal.signal(signal.SIGINT, signal.SIG_IGN);"
        f" from {module} import main; sys.exit(main())"
    )
    return [sys.executable, "-c", program]
