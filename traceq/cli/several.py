"""Options that take all that follows them: --base A B C."""

from __future__ import annotations

import click


class Several(click.Command):
    """A command whose options that may be repeated take several values at once, up to the next option."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Repeat the option before each of its values."""
        several = {
            name for each in self.params if isinstance(each, click.Option) and each.multiple for name in each.opts
        }
        spread: list[str] = []
        option = None
        for argument in args:
            if argument.startswith("-") and argument != "-":
                option = argument if argument in several else None
                spread += [] if option else [argument]
            else:
                spread += [option, argument] if option else [argument]
        return super().parse_args(ctx, spread)
