"""Why a job hangs: the first group in which ranks part, and who is missing or different, from the tables of analysis/hang."""
