"""Steps as a whole, and advice that wins nothing by itself."""
