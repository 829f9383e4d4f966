"""Tests of the mechanisms that are said to make sparse attention learn faster, one a file, from what was measured inside runs."""
