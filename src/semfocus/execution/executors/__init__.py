"""The executors: serial, pool, Ray."""
