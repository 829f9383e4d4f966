"""Analysis: from records to findings."""
