"""The training of one run of full attention written out, as anybody would, without any code of trials but the
names of seeds.
"""

import torch

from semfocus.randomness import derive_seed, stream


def held_out_losses(build, loss, train, held_out, settings, seed=0):
    """The held-out loss before training and after each look; `loss(model, rows of train or held_out)`.

    Looks at every step, no more held-out rows than one batch, and no more rows than one epoch: the least that
    shows a difference.
    """
    torch.manual_seed(derive_seed(seed, "trial/weights"))
    model = build()
    optimiser = torch.optim.AdamW(model.parameters(), lr=1.0, weight_decay=settings.weight_decay)
    order = torch.randperm(len(train), generator=stream(seed, "trial/order", 0))
    assert settings.steps * settings.batch_size <= len(train)
    assert len(held_out) <= settings.batch_size

    def look():
        model.eval()
        with torch.no_grad():
            return float(loss(model, held_out))

    found = [look()]
    for step in range(1, settings.steps + 1):
        rows = order[(step - 1) * settings.batch_size : step * settings.batch_size]
        optimiser.param_groups[0]["lr"] = settings.learning_rate * min(1.0, step / settings.warmup_steps)
        model.train()
        torch.manual_seed(derive_seed(seed, "trial/noise", step))
        optimiser.zero_grad()
        loss(model, train.rows(rows)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), settings.clip_norm)
        optimiser.step()
        found.append(look())
    return found
