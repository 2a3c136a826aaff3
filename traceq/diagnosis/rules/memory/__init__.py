"""GPU memory."""
