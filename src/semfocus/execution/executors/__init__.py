"""Executors of many processes: a pool on this machine, Ray."""
