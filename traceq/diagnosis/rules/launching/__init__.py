"""The host is late to launch."""
