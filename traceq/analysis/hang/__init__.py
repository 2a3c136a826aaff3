"""Why a job hangs: collectives that flight recorders hold, matched across ranks. Tables of a database of their own."""
