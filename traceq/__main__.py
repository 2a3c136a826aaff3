"""The program `traceq`, also as `python -m traceq`."""

from traceq.common import ending, streams


def run() -> None:
    """Do what the arguments say. Signals end it well from here on, the imports included."""
    streams.replace_closed()
    ending.catch()
    from traceq.cli import run

    run()


if __name__ == "__main__":
    run()
