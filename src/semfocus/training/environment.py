"""Where a run was computed: versions, machine, numerics class."""

import platform
import sys
from datetime import UTC, datetime
from typing import Any

import numpy
import torch

import semfocus
from semfocus.training.device import numerics_class


def describe_environment(device: torch.device) -> dict[str, Any]:
    """Plain values for env.json and the record."""
    return {
        "semfocus": semfocus.__version__,
        "python": sys.version.split()[0],
        "numpy": numpy.__version__,
        "platform": platform.platform(),
        "machine": platform.machine(),
        "host": platform.node(),
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "numerics": numerics_class(device),
    }
