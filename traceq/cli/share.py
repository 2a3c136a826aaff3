"""Shares on the command line: 3%, 3 % or 0.03."""

from __future__ import annotations

import click

from traceq.percent import share


class ShareType(click.ParamType[float]):
    """A share of 0 to 1, given as a number or in per cent."""

    name = "share"

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str | None:  # noqa: ARG002 - click's
        """What --help calls it."""
        return "PERCENT"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The share; fails with what is accepted."""
        if isinstance(value, float):
            return value
        try:
            return share(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)
