"""`python -m traceq` is `traceq`."""

from traceq.cli import run

if __name__ == "__main__":
    run()
