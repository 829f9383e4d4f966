"""The practitioner's question: would a pattern help my model, on my data?"""

from typing import TYPE_CHECKING

from semfocus.lazy import lazy_exports

if TYPE_CHECKING:
    from semfocus.trial.curve import Curve
    from semfocus.trial.result import TrialResult
    from semfocus.trial.spec import Arm, TrialSettings
    from semfocus.trial.trial import run_trial
    from semfocus.trial.verdict import Verdict, judge

__all__ = ["Arm", "Curve", "TrialResult", "TrialSettings", "Verdict", "judge", "run_trial"]

# Lazy: the verdict needs neither torch nor a model.
__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Arm": "semfocus.trial.spec",
        "Curve": "semfocus.trial.curve",
        "TrialResult": "semfocus.trial.result",
        "TrialSettings": "semfocus.trial.spec",
        "run_trial": "semfocus.trial.trial",
        "Verdict": "semfocus.trial.verdict",
        "judge": "semfocus.trial.verdict",
    },
)
