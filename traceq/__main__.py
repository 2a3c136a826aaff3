"""The program `traceq`, also as `python -m traceq`."""

from traceq.common import signals, streams


def run() -> None:
    """Run the command that the arguments name.

    From here on, imports included, signals end the program in an orderly way.
    """
    streams.replace_closed()
    signals.end_on_signals()
    from traceq.cli import run

    run()


if __name__ == "__main__":
    run()
