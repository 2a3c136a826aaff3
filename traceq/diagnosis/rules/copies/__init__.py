"""Copies between host and device, and within a device."""
