"""The trace database: its tables, connections to it, queries of traceq and of users. It knows no analysis."""
