"""Whether a fix won what its finding had said: predictions held against what was measured after."""
