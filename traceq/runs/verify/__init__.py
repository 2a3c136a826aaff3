"""Check whether a fix saved what its finding predicted: predictions held against what was measured after."""
