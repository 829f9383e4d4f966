"""Tests of the proposed mechanisms of faster learning, one per file, from what was measured inside runs."""
