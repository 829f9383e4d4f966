"""Jobs one after the other in this process."""

import time

from semfocus.studies.executor import Hear
from semfocus.studies.kinds import AnyJob, perform_any


class Serial:
    """One place; `wait` does the job itself, and Ctrl-C reaches the training directly."""

    def __init__(self, hear: Hear) -> None:
        self.hear = hear
        self.job: AnyJob | None = None

    def free(self) -> int:
        return 1 if self.job is None else 0

    def start(self, job: AnyJob) -> None:
        self.job = job

    def wait(self, seconds: float) -> None:
        job, self.job = self.job, None
        if job is None:
            time.sleep(seconds)
        else:
            perform_any(job, lambda message: self.hear(job.run, message))

    def stop(self) -> None:
        """Nothing runs outside of `wait`."""

    def close(self) -> None:
        """Nothing runs outside of `wait`."""
