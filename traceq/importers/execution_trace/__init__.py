"""Execution traces of PyTorch (Chakra's host traces): which operator reads the tensors that which other one has written."""
