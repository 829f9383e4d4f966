"""Subjects: somebody's own model and data."""
