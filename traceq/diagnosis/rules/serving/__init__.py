"""Rules on servers of models: what requests wait for."""
