"""The directory that `traceq record` puts on PYTHONPATH, so that Python finds its sitecustomize."""
