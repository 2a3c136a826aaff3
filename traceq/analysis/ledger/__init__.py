"""Ledger of the time of each step: device activity, idle gaps with their causes, the host's time."""
