"""From a Report to neutral blocks, one section a file."""
