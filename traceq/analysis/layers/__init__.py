"""Layers of a model: by the names of its modules, or by the order in which kernels repeat."""
