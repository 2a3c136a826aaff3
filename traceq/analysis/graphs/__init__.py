"""Kernels of replayed graphs, and what a capture of the program tells of them."""
