"""Judgement: which facts are worth a finding, what to call them, how sure to be, and what to try."""
