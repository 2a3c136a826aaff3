"""The whole run from its logs: where its time and money went, and what would save most of it."""
