"""The account: every line of the ledger of 5 % of a step and more, with exactly one verdict."""
