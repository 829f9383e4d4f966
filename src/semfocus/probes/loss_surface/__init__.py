"""The loss around a trained model: a grid of it, and the curvature."""
