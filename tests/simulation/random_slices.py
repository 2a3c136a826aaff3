"""Random traces by the hundred in one: small worlds one after the other, each with its own steps, host and device work."""

from __future__ import annotations

from itertools import pairwise
from random import Random

from builder import TraceBuilder

HOST = (
    ("annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__"),
    ("annotation", "save_checkpoint"),
    ("annotation", "compile_fx.<locals>.fw_compiler_base"),
    ("annotation", "forward"),
    ("annotation", "nccl:all_reduce"),
    ("op", "aten::linear"),
    ("op", "aten::item"),
    ("op", "autograd::engine::evaluate_function: MmBackward0"),
    ("op", "gloo:all_reduce"),
    ("runtime", "cudaStreamSynchronize"),
    ("runtime", "cudaMalloc"),
    ("runtime", "cudaFuncGetAttributes"),
    ("os", "poll"),
    ("python", "train.py(3): step"),
    ("overhead", "Buffer Flush"),
)
DEVICE = (
    ("kernel", "gemm", {}),
    ("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL", {}),
    ("memcpy", "Memcpy HtoD", {"copy_kind": "h2d", "src_memory": "pageable", "dst_memory": "device"}),
    ("memcpy", "Memcpy DtoH", {"copy_kind": "d2h", "src_memory": "device", "dst_memory": "pinned"}),
    ("memcpy", "Memcpy PtoP", {"copy_kind": "p2p"}),
    ("memset", "Memset", {}),
    ("graph", "CUDA graph 3", {}),
)


FLAVOURS = ("overhead", "crooked", "unmarked", "optimizer", "no calls", "no device", "steps")


class Worlds:
    """`count` random traces in one; the flavour decides what marks steps, what the trace lacks and whether host slices nest."""

    def __init__(self, seed: int, count: int) -> None:
        self.random = Random(seed)  # noqa: S311
        self.flavour = FLAVOURS[seed % len(FLAVOURS)]
        self.trace = TraceBuilder()
        self.calls = 1000  # the builder counts from 1
        at = self.random.randrange(0, 1000)
        for number in range(count):
            at = self._world(at, number)
        self._last(at)

    def _world(self, at: int, number: int) -> int:
        length = self.random.randrange(40, 400) * self.random.choice((1, 1, 1, 1000))
        parts = self._marks(at, length, number)
        for start, stop in [(at, at + length)] if self.flavour == "crooked" else parts:
            self._inside(start, stop, 0, 3)
        for thread in range(1, self.random.randrange(1, 4)):
            self._inside(at, at + length, thread, 3)
        if self.flavour == "overhead" and self.random.random() < 0.5:
            start = self.random.randrange(length)
            self.trace.cpu("overhead", "Buffer Flush", at + start, self.random.randrange(1, length - start + 1), 9)
        for _ in range(self.random.choice((0, 0, 1, 3))):
            self._work(at + self.random.randrange(length), length, None)
        return at + length + self.random.choice((0, 0, self.random.randrange(1, 50)))

    def _marks(self, at: int, length: int, number: int) -> list[tuple[int, int]]:
        """The marks of steps, and the stretches in and between them."""
        cuts = [0, *sorted(self.random.sample(range(1, length), self.random.randrange(0, 3))), length]
        parts = []
        for part, (ts, end) in enumerate(pairwise(cuts)):
            own = end if self.random.random() < 0.7 else self.random.randrange(ts + 1, end + 1)
            if self.flavour == "optimizer":
                self.trace.annotation("Optimizer.step#SGD.step", at + ts, own - ts)
            elif self.flavour != "unmarked":
                self.trace.annotation(f"ProfilerStep#{3 * number + part}", at + ts, own - ts)
            parts += [(at + ts, at + own), (at + own, at + end)]
        return parts

    def _last(self, at: int) -> None:
        """A step that everything ends in, so that no cut piece lies behind all steps."""
        self._marks(at, 1_000_000, 10**6)
        if self.flavour not in ("no device", "no calls"):
            self.trace.kernel("last", at + 999_000, 500, launched=(at + 900_000, 10))

    def _inside(self, ts: int, end: int, thread: int, levels: int) -> None:
        """Slices one after the other, which nest."""
        edges = sorted(self.random.choices(range(ts, end + 1), k=self.random.choice((0, 2, 4, 6))))
        for start, stop in zip(edges[::2], edges[1::2], strict=True):
            if self.random.random() < 0.4:
                self._call(start, stop, thread)
                continue
            kind, name = self.random.choice(HOST)
            self.trace.cpu(kind, name, start, stop - start, thread)
            if levels and kind in ("annotation", "op", "python"):
                self._inside(start, stop, thread, levels - 1)

    def _call(self, ts: int, end: int, thread: int) -> None:
        if self.flavour == "no device":
            return
        self.calls += 1
        kind = self.random.random()
        if kind < 0.1:
            self.trace.call("cudaEventRecord", ts, end - ts, self.calls, thread)
            self.trace.add(
                "cuda_event", slice_id=1 << 30 | self.calls, correlation_id=self.calls, **self._place(), ts=end
            )
        elif kind < 0.2:
            self.trace.call("cudaStreamWaitEvent", ts, end - ts, self.calls, thread)
            self._waits(ts, end)
        elif self.flavour == "no calls":
            self._work(ts, end - ts + 1, None)
        else:
            self.trace.call("cudaLaunchKernel", ts, end - ts, self.calls, thread)
            for _ in range(self.random.choice((1, 1, 1, 3))):
                self._work(ts + self.random.randrange(-3, 60), 40, self.calls)

    def _waits(self, ts: int, end: int) -> None:
        of = self.random.randrange(max(1, self.calls - 8), self.calls + 1)
        self.trace.add(
            "synchronization",
            slice_id=1 << 31 | self.calls,
            kind="stream_wait_event",
            **self._place(),
            ts=ts,
            dur=end - ts,
            correlation_id=self.calls,
            wait_on_correlation_id=of,
        )

    def _work(self, ts: int, longest: int, correlation: int | None) -> None:
        if self.flavour == "no device":
            return
        kind, name, columns = self.random.choice(DEVICE)
        dur = self.random.randrange(0, longest)
        self.trace.gpu(kind, name, ts, dur, correlation_id=correlation, **self._place(), **columns)

    def _place(self) -> dict[str, int]:
        return {"device": self.random.choice((0, 0, 1)), "stream": self.random.choice((7, 7, 20))}
