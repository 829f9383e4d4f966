"""Semantic focus in other people's models: PyTorch's own attention modules and Hugging Face models."""

from semfocus.integrations.sdpa import sdpa
from semfocus.integrations.switch import Applied, AppliedLayer, apply, restore
from semfocus.integrations.torch.multihead import MultiheadAttention
from semfocus.integrations.verification import CheckReport, check

__all__ = [
    "Applied",
    "AppliedLayer",
    "CheckReport",
    "MultiheadAttention",
    "apply",
    "check",
    "restore",
    "sdpa",
]
