"""Recipes of the paper: one file per figure or table."""
