"""Compiled kernels for the CPU: a shared library with a C interface, and its calls on tensors."""
