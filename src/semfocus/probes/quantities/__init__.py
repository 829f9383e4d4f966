"""Quantities of attention traces and of models, related ones together: functions of tensors."""
