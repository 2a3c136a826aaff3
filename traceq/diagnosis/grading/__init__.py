"""Grade reports of traces by labels that say what is true of the traces."""
