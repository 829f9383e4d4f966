"""Landscapes: the loss around trained runs."""
