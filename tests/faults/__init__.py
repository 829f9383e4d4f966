"""Faults planted at every operation on files, and what a disk may do when the power fails."""
