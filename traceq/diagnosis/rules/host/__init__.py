"""The host of traces without GPU activity: what the training thread spends a step on."""
