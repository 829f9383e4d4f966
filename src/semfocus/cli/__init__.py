"""The command line: parse, call, print."""

from semfocus.cli.app import main

__all__ = ["main"]
