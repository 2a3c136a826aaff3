"""`python -m traceq` is `traceq`."""

from traceq.cli import main

if __name__ == "__main__":
    main(prog_name="traceq")
