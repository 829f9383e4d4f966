"""Semantic focus in other people's models: PyTorch's own attention modules and Hugging Face models."""

from semfocus.integrations.applied import Applied, AppliedLayer
from semfocus.integrations.applying import apply, restore
from semfocus.integrations.multihead import MultiheadAttention

__all__ = ["Applied", "AppliedLayer", "MultiheadAttention", "apply", "restore"]
