"""Why a job hangs: read the flight recorders of its ranks, and say where they part."""

from __future__ import annotations

from collections.abc import Iterable

from traceq.app.source import Sources, as_list
from traceq.app.view import View
from traceq.diagnosis.hang.judge import find_hang
from traceq.diagnosis.hang.model import Hang
from traceq.errors import WrongUse
from traceq.loading.dumps import open_dumps
from traceq.reports.document import Block
from traceq.reports.hang.compose import compose_hang, describe_hang
from traceq.reports.hang.to_json import hang_to_json

_MOST_RANKS = 1 << 20


class HangView(View[Hang]):
    """The place where a hang begins and the ranks that make it; `content` is plain data, with times in ns since 1970."""

    @property
    def verdict(self) -> str:
        """The sentence on where it begins, and who is missing or different."""
        return describe_hang(self.content)

    def blocks(self) -> Iterable[Block]:
        """Return the document on the result as blocks, for plain text: at most a screen of them."""
        return compose_hang(self.content)

    def markdown_blocks(self) -> Iterable[Block]:
        """Return the document with all groups and whole stacks."""
        return compose_hang(self.content, is_long=True)

    def html_blocks(self) -> Iterable[Block]:
        """Return the document with all groups and whole stacks."""
        return compose_hang(self.content, is_long=True)

    def to_json(self) -> str:
        """Return the result as JSON text, for programs."""
        return hang_to_json(self.content)


def explain_hang(dumps: Sources, *, world_size: int | None = None) -> HangView:
    """Say why a job hangs from dumps of PyTorch's flight recorder: files, folders and globs with one a rank.

    `world_size` is how many ranks the job has, which gloo's dumps do not tell. Raises WrongUse for an impossible
    number, NoTraces, UnknownFormat or UnusableTrace where no dump can be read.
    """
    if world_size is not None and not 0 < world_size <= _MOST_RANKS:
        raise WrongUse(f"--world-size {world_size}: a job has 1 to {_MOST_RANKS:,} ranks")
    with open_dumps(as_list(dumps), world_size) as connection:
        return HangView(find_hang(connection))
