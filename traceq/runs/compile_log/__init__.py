"""What logs of torch.compile come to: compile time by function and part, graph breaks, recompilations, caches."""
