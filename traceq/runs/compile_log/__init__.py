"""Logs of torch.compile summed up: compile time by function and part, graph breaks, recompilations, caches."""
