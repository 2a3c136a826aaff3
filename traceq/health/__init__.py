"""Judge how far a trace database can be trusted, and which metrics its traces are good for."""
