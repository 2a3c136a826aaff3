"""The words about a history of reports, for the screen, for a page, and for a gate."""
