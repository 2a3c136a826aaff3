"""From trace files to one database: which files, one database each, all of it or nothing."""
