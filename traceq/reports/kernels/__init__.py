"""The hot kernels of a trace: what they are, what a kernel profiler reported of them, and how to run it on them."""
