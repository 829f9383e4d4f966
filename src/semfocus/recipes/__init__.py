"""Recipes: named lists of specs."""

from semfocus.recipes import quick

RECIPES = {"quick": quick}

__all__ = ["RECIPES"]
