"""Execution: jobs of any kind, on this process, a pool of processes, or a Ray cluster."""
