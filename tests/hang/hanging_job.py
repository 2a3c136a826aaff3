"""Programs of collectives on a grid of groups, run by a tiny simulator, with the dumps that the ranks' recorders would have."""

from __future__ import annotations

from typing import Any, NamedTuple

START_NS = 1_700_000_000_000_000_000


class Op(NamedTuple):
    """A collective in the program that all ranks run: in their group of this role."""

    role: str
    name: str
    size: int
    dtype: str = "Float"


class Grid(NamedTuple):
    """Ranks in tensor-parallel groups of `tp` neighbours, `dp` copies of them, and the world."""

    tp: int
    dp: int

    @property
    def world(self) -> int:
        """The number of ranks."""
        return self.tp * self.dp

    def get_group(self, role: str, rank: int) -> tuple[int, ...]:
        """Return the ranks of the group of this role that the rank belongs to."""
        if role == "tp":
            return tuple(range(rank // self.tp * self.tp, (rank // self.tp + 1) * self.tp))
        if role == "dp":
            return tuple(range(rank % self.tp, self.world, self.tp))
        return tuple(range(self.world))


class Made(NamedTuple):
    """A call of a rank: the operation, its group and number, when it was made, and whether it was finished."""

    op: Op
    group: tuple[int, ...]
    sequence: int
    at: int
    is_finished: bool


def run_job(grid: Grid, programs: list[list[Op]]) -> list[list[Made]]:
    """Return what each rank has called when nothing goes on any more.

    Calls block; one is finished when all ranks of its group are in it, with the same operation, size and type.
    """
    made: list[list[Made]] = [[] for _ in programs]
    counts: list[dict[str, int]] = [{"tp": 0, "dp": 0, "default_pg": 0} for _ in programs]
    at = 0
    while True:
        is_moved = False
        for rank, program in enumerate(programs):
            done = len(made[rank])
            if done < len(program) and (not made[rank] or made[rank][-1].is_finished):
                op = program[done]
                counts[rank][op.role] += 1
                at += 1
                made[rank].append(Made(op, grid.get_group(op.role, rank), counts[rank][op.role], at, False))
                is_moved = True
        for rank in range(len(programs)):
            if not made[rank] or made[rank][-1].is_finished:
                continue
            call = made[rank][-1]
            if rank != call.group[0]:
                continue
            others = [made[other][-1] if made[other] else None for other in call.group]
            alike = [other is not None and (other[:3] == call[:3]) and not other.is_finished for other in others]
            if all(alike):
                for other in call.group:
                    made[other][-1] = made[other][-1]._replace(is_finished=True)
                is_moved = True
        if not is_moved:
            return made


def make_dump(
    grid: Grid, rank: int, made: list[Made], *, backend: str = "nccl", capacity: int = 1000
) -> dict[str, Any]:
    """Return the dump of a rank, as PyTorch would write it as JSON, with its last `capacity` calls."""
    names = {role: f"{role}{min(grid.get_group(role, rank))}" for role in ("tp", "dp", "default_pg")}
    numbers = {role: number for number, role in enumerate(names)}
    entries = [
        {
            "record_id": record,
            "pg_id": numbers[call.op.role],
            "process_group": [names[call.op.role], call.op.role],
            "collective_seq_id": call.sequence,
            "p2p_seq_id": 0,
            "op_id": call.sequence,
            "profiling_name": f"{backend}:{call.op.name}",
            "time_created_ns": START_NS + call.at,
            "input_sizes": [[call.op.size]],
            "input_dtypes": [call.op.dtype],
            "output_sizes": [[call.op.size]],
            "output_dtypes": [call.op.dtype],
            "state": "completed" if call.is_finished and backend != "gloo" else "scheduled",
            "time_discovered_started_ns": 0,
            "time_discovered_completed_ns": START_NS + call.at if call.is_finished and backend != "gloo" else 0,
            "retired": call.is_finished,
            "timeout_ms": 600_000,
            "is_p2p": False,
        }
        for record, call in enumerate(made)
    ][-capacity:]
    groups = {
        name: {"name": name, "desc": role, "ranks": str(list(grid.get_group(role, rank)))}
        for role, name in names.items()
    }
    return {
        "comm_lib_version": "",
        "version": "2.10",
        "pg_config": {} if backend == "gloo" else groups,
        "entries": entries,
    }


def queue_job(grid: Grid, programs: list[list[Op]], *, stuck: int | None = None) -> list[list[Made]]:
    """Return what each rank has called when its program runs to its end and its GPU does one call after the other.

    One is finished when it is next on the GPUs of all its ranks; the first call with number `stuck` of all ranks never is.
    """
    made: list[list[Made]] = [[] for _ in programs]
    for rank, program in enumerate(programs):
        for at, op in enumerate(program):
            sequence = sum(before.role == op.role for before in program[: at + 1])
            made[rank].append(Made(op, grid.get_group(op.role, rank), sequence, at, False))
    heads = [0] * len(programs)

    def get_next(rank: int) -> tuple[tuple[int, ...], int] | None:
        return made[rank][heads[rank]][1:3] if heads[rank] < len(made[rank]) else None

    is_moved = True
    while is_moved:
        is_moved = False
        for rank in range(len(programs)):
            place = get_next(rank)
            if place is None or place == (tuple(range(grid.world)), stuck):
                continue
            if all(get_next(other) == place for other in place[0]):
                for other in place[0]:
                    made[other][heads[other]] = made[other][heads[other]]._replace(is_finished=True)
                    heads[other] += 1
                is_moved = True
    return made
