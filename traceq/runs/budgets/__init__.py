"""Budgets: what a step, its ledger, findings, numbers of the user's own and a comparison may be, and whether they are."""
