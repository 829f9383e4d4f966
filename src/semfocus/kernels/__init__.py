"""Compiled code, below the mechanisms and the models that it serves; one room per kind of device."""
