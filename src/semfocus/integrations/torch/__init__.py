"""Attention modules of PyTorch."""
