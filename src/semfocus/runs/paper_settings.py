"""The paper's training settings for each task: what a spec means by leaving a value out."""

from typing import Any

#: the ten seeds of the paper: for results
PAPER_SEEDS = (
    153476998,
    235510766,
    205084180,
    129959864,
    149896109,
    140439608,
    145017219,
    162518970,
    245293503,
    152674004,
)
#: for choosing settings, so that nothing is reported on the seeds it was chosen on
DEVELOPMENT_SEEDS = (1, 2, 3)

#: the seven tasks of length 40, by the paper's number of epochs
SHORT_TASKS = (
    "even_pairs",
    "stack_manipulation",
    "missing_duplicate",
    "modular_arithmetic",
    "solve_equation",
    "cycle_navigation",
    "parity",
)
PAPER_TASKS = (*SHORT_TASKS, "listops")

#: epochs for the tasks of length 40; a task that is not listed trains for as long as even_pairs
_EPOCHS = {
    "even_pairs": 100,
    "stack_manipulation": 200,
    "missing_duplicate": 250,
    "modular_arithmetic": 600,
    "solve_equation": 600,
    "cycle_navigation": 750,
    "parity": 1000,
}


def paper_model(task: str) -> dict[str, Any]:
    """Architecture settings that differ from the defaults."""
    return {"num_blocks": 10} if task == "listops" else {}


def paper_training(task: str) -> dict[str, Any]:
    """Optimiser and duration. The decay of 0.9995 is that of the authors' released commands."""
    if task == "listops":
        return {"learning_rate": 1.0, "learning_rate_decay": 0.99, "epochs": 200}
    if task == "text":  # ours: the paper says the sizes of its language models, not how they were trained
        return {"optimiser": "adam", "learning_rate": 0.001, "learning_rate_decay": 1.0, "epochs": 20}
    return {"learning_rate": 0.1, "learning_rate_decay": 0.9995, "epochs": _EPOCHS.get(task, 100)}
