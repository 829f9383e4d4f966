"""Jobs one after the other in this process."""

import time

from semfocus.execution.executor import Hear
from semfocus.execution.jobs import Job, perform


class Serial:
    """One place; `wait` does the job itself, and Ctrl-C reaches the training directly."""

    def __init__(self, hear: Hear) -> None:
        self.hear = hear
        self.job: Job | None = None

    def free(self) -> int:
        return 1 if self.job is None else 0

    def start(self, job: Job) -> None:
        self.job = job

    def wait(self, seconds: float) -> None:
        job, self.job = self.job, None
        if job is None:
            time.sleep(seconds)
        else:
            perform(job, lambda message: self.hear(job.run, message))

    def stop(self) -> None:
        """Nothing runs outside of `wait`."""

    def close(self) -> None:
        """Nothing runs outside of `wait`."""
