"""Probes: what is measured inside and around a model."""
