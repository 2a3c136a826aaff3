"""The host waits for the GPU, or for memory."""
