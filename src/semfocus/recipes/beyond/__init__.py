"""Recipes of our own: scaled down, controls, and questions that the paper does not ask."""
