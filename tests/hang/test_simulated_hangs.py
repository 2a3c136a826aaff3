"""Random programs with one fault, run by a simulator: the group, the place and the rank that are found are those of the fault."""

from __future__ import annotations

from dataclasses import dataclass

import pytest
from hanging_job import Grid, Made, Op, make_dump, queue_job, run_job
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

NAMES = ("all_reduce", "broadcast", "_all_gather_base")


@dataclass(frozen=True)
class Planted:
    """A program with a fault of one rank at one place of it."""

    grid: Grid
    program: tuple[Op, ...]
    fault: str
    rank: int
    at: int

    @property
    def op(self) -> Op:
        """The operation at the place of the fault."""
        return self.program[self.at]

    @property
    def group(self) -> tuple[int, ...]:
        """The group in which the fault is."""
        return self.grid.get_group(self.op.role, self.rank)

    @property
    def sequence(self) -> int:
        """The number of the collective at the place of the fault within its group."""
        return sum(op.role == self.op.role for op in self.program[: self.at + 1])

    def get_programs(self) -> list[list[Op]]:
        """Return what each rank runs."""
        programs = [list(self.program) for _ in range(self.grid.world)]
        own = programs[self.rank]
        if self.fault == "skip":
            del own[self.at]
        elif self.fault in ("died", "slow"):
            del own[self.at :]
        else:
            changed = {"sizes": {"size": 1}, "types": {"dtype": "Half"}, "operation": {"name": "reduce"}}[self.fault]
            own[self.at] = self.op._replace(**changed)
        return programs


@st.composite
def planted_faults(draw: st.DrawFn) -> Planted:
    """Draw a program with a fault. Sizes tell calls apart, so that a missing one is seen where it is missing."""
    grid = Grid(draw(st.integers(2, 3)), draw(st.integers(2, 3)))
    kinds = draw(
        st.lists(
            st.tuples(st.sampled_from(("tp", "dp", "default_pg")), st.sampled_from(NAMES)), min_size=1, max_size=12
        )
    )
    program = tuple(Op(role, name, 10 + number) for number, (role, name) in enumerate(kinds))
    fault = draw(st.sampled_from(("skip", "died", "slow", "sizes", "types", "operation")))
    return Planted(grid, program, fault, draw(st.integers(0, grid.world - 1)), draw(st.integers(0, len(program) - 1)))


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(planted=planted_faults(), backend=st.sampled_from(("nccl", "gloo")))
def test_the_fault_is_found(judge, planted, backend):
    check_found(judge, planted, backend)


@pytest.mark.slow
@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(planted=planted_faults(), backend=st.sampled_from(("nccl", "gloo")))
def test_the_fault_is_found_in_many(judge, planted, backend):
    check_found(judge, planted, backend)


def check_found(judge, planted: Planted, backend: str) -> None:
    """Check what is found against the fault that was planted."""
    made = run_job(planted.grid, planted.get_programs())
    dumps = {rank: make_dump(planted.grid, rank, calls, backend=backend) for rank, calls in enumerate(made)}
    if planted.fault == "died":
        del dumps[planted.rank]
    hang = judge(dumps, planted.grid.world)
    event(f"{planted.fault}: {hang.kind}")
    is_hanging = any(calls and not calls[-1].is_finished for rank, calls in enumerate(made) if rank in dumps)
    assert (hang.kind != "none") == is_hanging
    if hang.first is None:
        return
    if not hang.culprits:
        # gloo does not list members: of several groups that lack some nobody knows which lacks whom
        assert backend == "gloo"
        assert hang.first.group.size is None or len(hang.first.present_ranks) < hang.first.group.size
        return
    if planted.fault in ("died", "slow"):
        assert hang.kind == {"died": "no_dump", "slow": "late"}[planted.fault]
        assert planted.rank in hang.culprits
        assert hang.culprits == (planted.rank,)
        # the place at which the first of the others waits for it
        assert planted.rank not in hang.first.present_ranks
        return
    place = (hang.first.group.members, hang.first.sequence)
    if hang.is_one_of_two:
        partings = [(row.parting.group.members, row.parting.sequence) for row in hang.progress]
        assert (planted.group, planted.sequence) in partings
        return
    assert place == (planted.group, planted.sequence)
    assert planted.rank in hang.culprits
    if hang.confidence == "high" or hang.kind == "late":
        assert hang.culprits == (planted.rank,)


def test_nothing_hangs_where_there_is_no_fault(judge):
    grid = Grid(2, 2)
    program = [Op("tp", "all_reduce", 8), Op("dp", "all_reduce", 9), Op("default_pg", "barrier", 1)]
    made = run_job(grid, [program] * 4)
    for backend in ("nccl", "gloo"):
        hang = judge({rank: make_dump(grid, rank, calls, backend=backend) for rank, calls in enumerate(made)})
        assert (hang.kind, hang.confidence, hang.progress) == ("none", "high", ())


GRID = Grid(2, 2)
ALIKE = [Op(("tp", "dp", "default_pg")[number % 3], "all_reduce", 8) for number in range(12)]


def judge_queued(judge, made: list[list[Made]]):
    return judge({rank: make_dump(GRID, rank, calls) for rank, calls in enumerate(made)})


@pytest.mark.parametrize(
    "changed",
    [
        pytest.param([*ALIKE[:4], *ALIKE[5:]], id="left out"),
        pytest.param([*ALIKE[:4], ALIKE[5], ALIKE[4], *ALIKE[6:]], id="another order"),
    ],
)
def test_programs_that_go_on_while_their_calls_are_queued(judge, changed):
    """Rank 2 leaves its second call in dp out, or makes it after the next one of all ranks; the numbers then look alike."""
    hang = judge_queued(judge, queue_job(GRID, [ALIKE, ALIKE, changed, ALIKE]))
    assert hang.first is not None
    assert (hang.kind, hang.first.group.members, hang.first.sequence, hang.culprits) == ("elsewhere", (0, 2), 2, (2,))
    assert hang.places[0].call is not None
    assert (hang.places[0].call.sequence, hang.places[0].call.state) == (2, "waiting")


def test_nobody_is_late_to_calls_behind_one_in_flight(judge):
    """The second call of all ranks does not end, and the programs of three ranks are further than that of rank 3."""
    hang = judge_queued(judge, queue_job(GRID, [ALIKE, ALIKE, ALIKE, ALIKE[:6]], stuck=2))
    assert hang.first is not None
    assert (hang.kind, hang.first.group.description, hang.first.sequence) == ("in_flight", "default_pg", 2)
    assert hang.culprits == ()
