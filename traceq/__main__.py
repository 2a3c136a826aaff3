"""The program `traceq`, also as `python -m traceq`."""

from traceq.common import signals, streams


def run() -> None:
    """Do what the arguments say. Signals end it well from here on, the imports included."""
    streams.replace_closed()
    signals.end_on_signals()
    from traceq.cli import run

    run()


if __name__ == "__main__":
    run()
