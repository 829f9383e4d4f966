"""Where a run with pre-training starts: the blocks of another run, which is trained first if the store lacks it."""

import torch

from semfocus.model import Classifier
from semfocus.runs import RunSpec, Store
from semfocus.runs.checkpoints import load_newest

#: seconds to wait for a process that is training the same pre-training run; runs of one study share them
_PATIENCE = 7 * 24 * 3600.0


def start_from_pretraining(
    model: Classifier, spec: RunSpec, store: Store, *, device: str = "auto", threads: int = 1
) -> None:
    """Give the blocks their pre-trained weights. Embedding and readout speak other tokens and classes, and stay new."""
    from semfocus.training.runner import run

    earlier = spec.pretraining_spec
    if earlier is None:
        return
    record = run(earlier, store, device=device, threads=threads, patience=_PATIENCE)
    if record["state"] != "done":
        raise ValueError(f"the pre-training run {earlier.digest} {record['state']}: {record['reason']}")
    checkpoint, problems = load_newest(store.directory(earlier).checkpoints, "last")
    if checkpoint is None or checkpoint.epoch != record["summary"]["epochs"]:
        why = f": {'; '.join(problems)}" if problems else ""
        raise ValueError(f"the pre-training run {earlier.digest} has no checkpoint of its last epoch{why}")
    own = model.state_dict()
    weights = checkpoint.groups["model"]
    with torch.no_grad():
        for name in own:
            if name.startswith("blocks."):
                own[name].copy_(weights[name])
