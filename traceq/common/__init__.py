"""Helpers that every room uses: numbers as text and back, safe text, files, processes."""
