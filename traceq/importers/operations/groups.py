"""Communication among operations, and their groups: by the names of operations, in the words of Megatron."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec
import numpy as np

from traceq.importers.operations.table import NONE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from traceq.importers.operations.table import Integers, Operations

# Between stages: activations go forward to the next one, gradients backward to the one before.
_BETWEEN_STAGES = re.compile(r"(forward|backward)[-_](send|recv)")

# Between copies of a stage: parameters are gathered, gradients reduced.
_BETWEEN_COPIES = re.compile(r"(?:params|grads)[-_](all[-_]?gather|reduce[-_]?scatter|all[-_]?reduce)")

# Between the first and the last stage of a copy, which share the embedding.
_OF_EMBEDDING = re.compile(r"embedding[-_]grads[-_]all[-_]?reduce")

_SPELLED = {"allgather": "all_gather", "reducescatter": "reduce_scatter", "allreduce": "all_reduce"}


class Communication(msgspec.Struct, frozen=True):
    """Arrays of communication, an element for the part of one rank (`device`) in one collective or transfer.

    `start` and `end` are ns. `row` is the index of the part's operation in the table, NONE for a barrier that the table
    does not name. `op` is the kind of collective (all_reduce, send, ...), `group` the name of the group of ranks,
    `size` how many ranks it has. `sequence` is equal in the parts that belong together.
    """

    row: Integers
    device: Integers
    op: Sequence[str]
    group: Sequence[str]
    size: Integers
    sequence: Integers
    start: Integers
    end: Integers


def find_communication(operations: Operations) -> Communication:
    """Return the operations whose names say that they are communication within a group of at least two ranks of the table."""
    stages = int(operations.stage.max()) + 1
    which, number = np.unique(
        np.stack([operations.kind, operations.stage, operations.copy]), axis=1, return_inverse=True
    )
    told = [_collective_of(operations.names[kind], stage, copy, stages) for kind, stage, copy in which.T.tolist()]
    names = sorted({pair[1] for pair in told if pair})
    group = np.array([names.index(pair[1]) if pair else NONE for pair in told], np.int64)[number.reshape(-1)]
    row = np.flatnonzero(group != NONE)
    pairs = np.unique(np.stack([group[row], operations.device[row]]), axis=1)
    size = np.bincount(pairs[0], minlength=len(names))
    row = row[size[group[row]] > 1]
    ops = [pair[0] if pair else "" for pair in told]
    return Communication(
        row,
        operations.device[row],
        [ops[code] for code in number.reshape(-1)[row].tolist()],
        [names[place] for place in group[row].tolist()],
        size[group[row]],
        number_sequences(operations)[row],
        operations.start[row],
        operations.end[row],
    )


def number_sequences(operations: Operations) -> Integers:
    """Return a number for each operation, equal for the operations that ranks do together (same kind, step and ordinal).

    A send has the number of the receive of the same step and ordinal.
    """
    kinds, ordinals = len(operations.names), int(operations.ordinal.max()) + 2
    numbers = {name: kind for kind, name in enumerate(operations.names)}
    # a send has the number of the receive that it is for
    shared = np.array(
        [numbers.get(re.sub(r"([-_])send$", r"\1recv", name), kind) for name, kind in numbers.items()], np.int64
    )
    return (operations.step * kinds + shared[operations.kind]) * ordinals + operations.ordinal + 1


def _collective_of(name: str, stage: int, copy: int, stages: int) -> tuple[str, str] | None:
    """Return (kind of collective, name of the group of ranks) of an operation; None for an operation within a rank.

    `name` is the operation's name, `stage` the pipeline stage of the rank, `copy` its copy of the model, `stages` their
    number.
    """
    if stage == NONE:
        return None
    if between := _BETWEEN_STAGES.fullmatch(name):
        way, side = between.groups()
        is_to_next = (side == "send") == (way == "forward")
        first = stage if is_to_next else (stage - 1) % stages
        return (
            side,
            f"{way} from stage {first} of copy {copy}"
            if way == "forward"
            else f"{way} to stage {first} of copy {copy}",
        )
    if among := _BETWEEN_COPIES.fullmatch(name):
        return _SPELLED[re.sub("[-_]", "", among[1])], f"copies of stage {stage}"
    if _OF_EMBEDDING.fullmatch(name):
        return "all_reduce", f"embedding of copy {copy}"
    return None
