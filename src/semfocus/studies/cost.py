"""How long a run takes, by a formula; nothing is measured."""

import json

from semfocus.mechanisms import Banded, BlockLocal, Pattern, WithGlobals
from semfocus.runs import RunSpec
from semfocus.tasks import TextTask

#: from even_pairs at the paper's setting, 6 s an epoch (docs/performance.md): multiply-adds a second on one
#: core of that machine, and seconds of bookkeeping a training step
_SPEED, _BOOKKEEPING = 2.6e10, 0.005


def num_steps(spec: RunSpec) -> int:
    """Training steps of an epoch."""
    return -(-(spec.training.num_train - spec.training.drop_samples_per_epoch) // spec.training.batch_size)


def rough_seconds(spec: RunSpec) -> float:
    """Seconds of a run to its epoch limit on one core, from the number of multiply-adds."""
    model, training = spec.model, spec.training
    length = training.length if isinstance(training.length, int) else training.length[1]
    projections = 4 * model.num_heads * model.d_model**2 + 2 * model.d_model * model.d_mlp
    attention = 2 * model.num_heads * model.d_model * _num_keys(spec.pattern_value, length)
    passes = 3 * training.num_train + training.num_train + training.num_held_out  # backward is twice forward
    readout = model.d_model * spec.task_value.num_classes if isinstance(spec.task_value, TextTask) else 0
    arithmetic = passes * length * (model.num_blocks * (projections + attention) + readout) / _SPEED
    return (training.epochs + 1) * (arithmetic + num_steps(spec) * _BOOKKEEPING)


def _num_keys(pattern: Pattern, length: int) -> int:
    """Keys whose scores a query needs: top-k must look at all to choose."""
    if isinstance(pattern, WithGlobals):
        return pattern.num_globals + _num_keys(pattern.base, length)
    if isinstance(pattern, Banded):
        return min(pattern.width, length)
    return min(pattern.size, length) if isinstance(pattern, BlockLocal) else length


def cost_key(spec: RunSpec) -> str:
    """Equal for runs whose epochs cost the same for each sample."""
    free = {"inverse_temperature", "initial_scale", "dropout", "layer_norm_eps", "first_norm_eps"}
    model = spec.model.model_dump(mode="json", exclude=free)
    training = spec.training
    answers = [spec.task_value.num_classes] if isinstance(spec.task_value, TextTask) else []
    return json.dumps(
        [spec.pattern, model, training.length, training.batch_size, training.optimiser, *answers]
    )
