"""What a rule is given and what it says: a subject to ask, claims on the ledger, advice, and the manual page."""
