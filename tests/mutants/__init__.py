"""Deliberate defects, each of which the tests must catch."""
