from __future__ import annotations


def _steps(trace, mark="ProfilerStep#"):
    for number in range(3):
        trace.annotation(f"{mark}{number}", number * 1_000_000, 1_000_000)
        yield number * 1_000_000


def _logs(trace, kind, name, busy=300_000):
    for start in _steps(trace):
        trace.kernel("gemm", start + 20_000, busy, launched=(start + 5_000, 5_000))
        for ts in range(start + 400_000, start + 900_000, 100_000):
            trace.cpu(kind, name, ts, 60_000)
        trace.kernel("gemm", start + 950_000, 40_000, launched=(start + 930_000, 5_000))


def found_prints(trace):
    """Five prints in a step: the gap names one of them, all count."""
    _logs(trace, "python", "<built-in function print>")


def found_range(trace):
    """A range of its own."""
    _logs(trace, "annotation", "log_metrics")


def found_tensorboard(trace):
    """Frames of TensorBoard's writer."""
    _logs(trace, "python", "torch/utils/tensorboard/writer.py(345): add_scalar")


def _nodes(trace, *, asks):
    """Ten nodes of the backward pass, on autograd's thread, each with a kernel."""
    for start in _steps(trace):
        trace.annotation("backward", start + 1_000, 990_000)
        for ts in range(start + 5_000, start + 950_000, 95_000):
            trace.op("autograd::engine::evaluate_function: MulBackward0", ts, 85_000, thread=1)
            trace.op("aten::mul", ts + 1_000, 20_000, thread=1)
            trace.kernel("mul", ts + 20_000, 30_000, launched=(ts + 10_000, 5_000), thread=1)
            if asks:
                trace.op("aten::isnan", ts + 22_000, 10_000, thread=1)
                trace.kernel("ne", ts + 51_000, 2_000, launched=(ts + 25_000, 5_000), thread=1)
                trace.op("aten::item", ts + 33_000, 45_000, thread=1)
                trace.call("cudaStreamSynchronize", ts + 34_000, 40_000, thread=1)


def found_anomaly(trace):
    """Each node is asked for NaN."""
    _nodes(trace, asks=True)


def clean_anomaly_off(trace):
    """The same without."""
    _nodes(trace, asks=False)
    trace.cpu("python", "train.py(12): train", 0, 3_000_000)


def clean_hidden(trace):
    """The GPU has enough to do meanwhile."""
    _logs(trace, "python", "<built-in function print>", busy=920_000)


def clean_logarithm(trace):
    """Names that only begin alike."""
    _logs(trace, "annotation", "log_softmax")
    trace.cpu("python", "train.py(12): train", 0, 3_000_000)


def clean_all_around(trace):
    """A progress bar around the loop is no logging."""
    _logs(trace, "python", "tqdm/std.py(1181): __iter__")


def cannot_tell(trace):
    """No frames, and no range says that it logs."""
    _logs(trace, "annotation", "log_softmax")
