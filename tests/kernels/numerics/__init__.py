"""Rounding errors, repeats and memory of the kernels under inputs chosen to hurt."""
