"""`python -m semfocus` is the command line."""

from semfocus.cli import main

main()
