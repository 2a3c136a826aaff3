"""Kernels and operators: families, occupancy, what they cost and which module of a model they belong to."""
