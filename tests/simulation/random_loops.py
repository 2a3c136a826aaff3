"""Random training loops, several in one run: one process executes them one after the other."""

from __future__ import annotations

from random import Random

from simulator.loop import Loop
from simulator.program import Action, Loader, Process, Program, Timing
from simulator.scenes import CAUSES


def draw_program(seed: int, count: int) -> Program:
    """A program of `count` random loops of one to three steps each; those of odd seeds use autograd's thread now and then."""
    random = Random(seed)  # noqa: S311
    actions: list[Action] = []
    for _ in range(count):
        actions += _draw_loop(random, has_autograd_thread=seed % 2 == 1 and random.random() < 0.5).actions()
    loader = Loader(random.randrange(1, 4), random.randrange(50_000, 3_000_000), random.randrange(1, 3))
    return Program((Process(tuple(actions), loader=loader),), start=random.randrange(10**9, 10**12))


def _draw_loop(random: Random, *, has_autograd_thread: bool) -> Loop:
    causes = random.sample(list(CAUSES), random.randrange(0, 4))
    return Loop(
        steps=random.randrange(1, 4),
        layers=random.randrange(1, 7),
        kernel=random.choice((1_500, 9_000, 70_000, 150_000)),
        operator=random.randrange(500, 8_000),
        python=random.randrange(0, 12_000),
        timing=Timing(random.randrange(2_000, 9_000), random.randrange(1_000, 9_000), random.randrange(100, 1_500)),
        seed=random.randrange(10**6),
        inject={cause: random.randrange(1_000, 2 * CAUSES[cause]) for cause in causes},
        reads_loss=random.random() < 0.6,
        lags=random.random() < 0.4,
        has_loader=random.random() < 0.3,
        has_autograd_thread=has_autograd_thread,
        batch=random.choice(("pinned", "pageable", "prefetched", "late")),
        graph=random.choice(("", "", "", "opaque", "nodes")),
        overlap=random.choice((0, 0, 4_000)),
    )
