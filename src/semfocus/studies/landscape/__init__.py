"""Loss landscapes of trained runs: planned, computed in parts by any executor, read back."""
