"""A worker process that also knows the jobs of trials.

python -m semfocus.trial.worker PID-OF-THE-DRIVER
"""

from semfocus.execution.worker import main

if __name__ == "__main__":
    main(lambda: __import__("semfocus.trial.jobs"))
