"""The mesh of a job's ranks: the axes of parallelism that its process groups run along."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from math import prod
from typing import NamedTuple

import msgspec

from traceq.errors import WrongUse

# The axes, as they are usually nested: ranks of the first are neighbours.
AXES = ("tp", "cp", "ep", "dp", "pp")

# All ranks of a job that has several axes.
WORLD = "world"

_AXIS = re.compile(r"\s*(?P<name>[a-z][a-z0-9_]*)\s*=\s*(?P<size>\d{1,9})\s*")


class MeshAxis(NamedTuple):
    """An axis of the mesh and its number of ranks."""

    name: str
    size: int


# The axes of a mesh, the one whose ranks are neighbours first.
Mesh = tuple[MeshAxis, ...]


def read_mesh(text: str) -> Mesh:
    """Return the mesh in `text`, such as tp=8,dp=4: the axis whose ranks are neighbours first.

    Raises WrongUse if it is not understood, or names an axis twice.
    """
    found = [_AXIS.fullmatch(part) for part in text.split(",")]
    mesh = tuple(MeshAxis(match["name"], int(match["size"])) for match in found if match)
    if len(mesh) < len(found) or not all(axis.size for axis in mesh):
        raise WrongUse(f"--axes {text}: write each axis with its ranks, the fastest varying first: tp=8,dp=4,pp=2")
    names = [axis.name for axis in mesh]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise WrongUse(f"--axes {text}: {twice} is named twice; an axis has one size")
    return mesh


def check_mesh(mesh: Mesh, world: int | None) -> None:
    """Raise WrongUse unless the mesh has as many ranks as the job, if that number (`world`) is known."""
    ranks = prod(axis.size for axis in mesh)
    if mesh and world is not None and ranks != world:
        text = ",".join(f"{axis.name}={axis.size}" for axis in mesh)
        raise WrongUse(
            f"--axes {text}: that is {ranks:,} ranks, and the trace says {world:,} (world_size);"
            " name all axes of the job, those of its copies (dp) and stages (pp) as well"
        )


def strides_of(mesh: Mesh) -> dict[str, int]:
    """Return by how much ranks differ that are neighbours on an axis, by the name of the axis."""
    return {axis.name: prod(before.size for before in mesh[:place]) for place, axis in enumerate(mesh)}


def stride_of(ranks: Sequence[int]) -> int | None:
    """Return the difference between one rank of a group and the next; None where it varies, or of fewer than two ranks."""
    steps = {after - before for before, after in pairwise(ranks)}
    return steps.pop() if len(steps) == 1 and min(steps) > 0 else None


def axis_of_members(mesh: Mesh, ranks: Sequence[int]) -> str | None:
    """Return the axis of a mesh along which a group of these ranks runs; None if it runs along none as a whole.

    Several axes are joined as tp+cp; all of them are "world".
    """
    strides = strides_of(mesh)
    places = [tuple(rank // strides[axis.name] % axis.size for axis in mesh) for rank in ranks]
    varying = [axis for number, axis in enumerate(mesh) if len({place[number] for place in places}) > 1]
    if not varying or len(set(ranks)) != prod(axis.size for axis in varying):
        return None
    return _join_axes(mesh, varying)


def axis_of_size(mesh: Mesh, size: int) -> str | None:
    """Return the axis of a mesh that alone has this number of ranks, "world" for all of several axes; None without one."""
    several = [axis for axis in mesh if axis.size > 1]
    if size == prod(axis.size for axis in mesh):
        return _join_axes(mesh, several)
    alone = [axis for axis in several if axis.size == size]
    return alone[0].name if len(alone) == 1 else None


def _join_axes(mesh: Mesh, varying: Sequence[MeshAxis]) -> str:
    whole = [axis for axis in mesh if axis.size > 1]
    return WORLD if len(varying) == len(whole) > 1 else "+".join(axis.name for axis in varying)


# --- what process groups are called

_WORDS = {
    "tp": ("tp", "tensor", "etp"),
    "cp": ("cp", "context", "sp", "ulysses", "ring"),
    "ep": ("ep", "expert", "experts", "moe"),
    "dp": (
        "dp", "data", "ddp", "fsdp", "hsdp", "edp", "efsdp", "shard", "sharded", "replicate", "replicated", "zero",
        "loss", "batch", "optimizer", "copies",
    ),
    "pp": ("pp", "pipeline", "pipe", "embedding"),
}  # fmt: skip
_AXIS_OF_WORD = {word: axis for axis, words in _WORDS.items() for word in words}
_SPLIT = re.compile(r"[^a-z]+")


def axis_of_words(described: str | None) -> str | None:
    """Return the axis that a group's name or description tells (TENSOR_MODEL_PARALLEL_GROUP, mesh_dp_shard); None without one.

    The data-parallel groups of experts, and those that include the context (DATA_PARALLEL_GROUP_WITH_CP, dp_shard_cp), are
    data-parallel: gradients and parameters go through them. Groups along several axes are joined as tp+pp.
    """
    words = [word for word in _SPLIT.split((described or "").lower()) if word]
    axes = {_AXIS_OF_WORD[word] for word in words if word in _AXIS_OF_WORD}
    if not axes:
        # Megatron's group of all ranks of one copy of the model
        return "tp+pp" if {"model", "parallel"} <= {*words} else None
    if "dp" in axes and axes & {"cp", "ep"}:
        axes -= {"cp", "ep"}
    # the tensor-parallel ranks of an expert, unless its name says that the experts are joined with them
    if axes == {"tp", "ep"} and not {"and", "model"} <= {*words} and words[:1] != ["tp"]:
        axes -= {"ep"}
    return "+".join(axis for axis in AXES if axis in axes)


# --- what goes through a process group


class Traffic(msgspec.Struct, frozen=True):
    """Collectives of one operation in a process group of a rank: `count` of them in `steps` steps.

    Of the collectives of which it is known in which phase they were launched (`phased`), `forward` are of the forward pass.
    `early` begin in the first third of a step, `hidden` is the share (0 to 1) of their time that runs beside compute. The
    others are the numbers of those around whose launch a word for an axis stands: `tensor` for tp, `data` for dp, `experts`
    for ep, `context` for cp.
    """

    op: str
    count: int
    steps: int
    phased: int = 0
    forward: int = 0
    early: int = 0
    hidden: float = 0.0
    tensor: int = 0
    data: int = 0
    experts: int = 0
    context: int = 0


_POINT_TO_POINT = ("send", "recv", "send_recv")
_REDUCING = ("all_reduce", "reduce_scatter", "all_gather", "reduce")
# All-reduces of activations: many in a step, from its first layers on, with nothing beside them.
_MANY, _EARLY, _HIDDEN = 8, 0.15, 0.1


def axis_of_traffic(every: Sequence[Traffic]) -> str | None:
    """Return the axis that the collectives of a group are typical of; None where they are not typical of any."""
    whole = sum(traffic.count for traffic in every)
    between = [traffic for traffic in every if traffic.op in _POINT_TO_POINT]
    if 2 * sum(traffic.count for traffic in between) > whole:
        # context-parallel attention passes its blocks around a ring
        return "cp" if _is_most(between, "context") else "pp"
    exchanges = [traffic for traffic in every if traffic.op == "all_to_all"]
    if exchanges:
        return next((axis for word, axis in (("experts", "ep"), ("context", "cp")) if _is_most(exchanges, word)), None)
    return _axis_of_reductions([traffic for traffic in every if traffic.op in _REDUCING])


def _axis_of_reductions(every: Sequence[Traffic]) -> str | None:
    """Return tp, dp or None by reductions and gathers of a group without other collectives."""
    if not every:
        return None
    for word, axis in (("data", "dp"), ("tensor", "tp")):
        if _is_most(every, word):
            return axis
    by_op = {traffic.op: traffic for traffic in every}
    scatter = by_op.get("reduce_scatter")
    if scatter is not None and scatter.phased:
        return "tp" if scatter.forward > _EARLY * scatter.phased else "dp"
    reduced = by_op.get("all_reduce")
    if reduced is None:
        return None
    if reduced.phased:
        return "tp" if reduced.forward >= _EARLY * reduced.phased else "dp"
    is_in_line = reduced.hidden < _HIDDEN and reduced.early >= _EARLY * reduced.count
    return "tp" if reduced.count >= _MANY * reduced.steps and is_in_line else None


def _is_most(every: Sequence[Traffic], word: str) -> bool:
    """Return whether around more than half of the launches such a word stands."""
    with_word: int = sum(getattr(traffic, word) for traffic in every)
    return 2 * with_word > sum(traffic.count for traffic in every)


# --- which axis each group has


class ProcessGroup(msgspec.Struct, frozen=True):
    """A process group of a rank: its name, what it is described as, number of ranks, the ranks if all are known, and traffic."""

    name: str | None
    described: str | None
    size: int | None
    ranks: tuple[int, ...] | None
    traffic: tuple[Traffic, ...] = ()


class GroupAxis(NamedTuple):
    """The axis of a process group, what told it (given, coordinates, description, mesh, inferred), and the stride of its ranks.

    All are None where they are unknown.
    """

    axis: str | None
    source: str | None
    stride: int | None


def find_axes(groups: Sequence[ProcessGroup], world: int | None, mesh: Mesh = ()) -> list[GroupAxis]:
    """Return the axis of each process group of a job of `world` ranks; `mesh` is what the user gave."""
    found = [_find_axis(group, world, mesh) for group in groups]
    known = {axis.axis for axis in found if axis.axis is not None}
    return [
        axis if axis.axis is not None else _find_by_place(group, axis, groups, found, known, world)
        for group, axis in zip(groups, found, strict=True)
    ]


def _find_axis(group: ProcessGroup, world: int | None, mesh: Mesh) -> GroupAxis:
    """Return the axis of a group by itself: as given, as described, or by what goes through it."""
    stride = stride_of(group.ranks or ())
    given = _find_given_axis(group, mesh)
    if given is not None:
        return GroupAxis(given, "given", stride)
    described = axis_of_words(group.described) or axis_of_words(group.name)
    if described is not None:
        return GroupAxis(described, "description", stride)
    traffic = axis_of_traffic(group.traffic)
    if traffic is None:
        return GroupAxis(None, None, stride)
    is_part = stride is not None and world is not None and len(group.ranks or ()) < world
    return GroupAxis(traffic, "mesh" if is_part else "inferred", stride)


def _find_given_axis(group: ProcessGroup, mesh: Mesh) -> str | None:
    if not mesh:
        return None
    if group.ranks is not None:
        return axis_of_members(mesh, group.ranks)
    return None if group.size is None else axis_of_size(mesh, group.size)


def _find_by_place(
    group: ProcessGroup,
    axis: GroupAxis,
    groups: Sequence[ProcessGroup],
    found: Sequence[GroupAxis],
    known: set[str],
    world: int | None,
) -> GroupAxis:
    """Return the axis of a group by its place among the others, where its traffic is typical of none.

    A group of all ranks beside smaller ones is the world. Of groups that only reduce and gather, those whose ranks are
    further apart than tensor-parallel ones are data-parallel, and neighbours beside a data-parallel group of larger stride
    are tensor-parallel.
    """
    several = [other for other in groups if other.size is not None and 1 < other.size < (world or 0)]
    if group.size is not None and group.size == world and several:
        return axis._replace(axis=WORLD, source="mesh")
    strides = {other.axis: other.stride for other in found if other.axis is not None and other.stride is not None}
    reduces = any(traffic.op in _REDUCING for traffic in group.traffic)
    if axis.stride is None or not reduces or any(traffic.op not in _REDUCING for traffic in group.traffic):
        return axis
    if "tp" in strides and "dp" not in known and axis.stride > strides["tp"]:
        return axis._replace(axis="dp", source="mesh")
    if "dp" in strides and "tp" not in known and axis.stride == 1 < strides["dp"]:
        return axis._replace(axis="tp", source="mesh")
    return axis
