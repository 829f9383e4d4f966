"""Defects of training: seeds, dropout, steps, evaluation, resuming, workers."""

from tests.mutants.mutant import Mutant, defects

TRAINING: tuple[Mutant, ...] = (
    *defects(
        "tests/test_randomness.py",
        "randomness.py",
        ("a seed is lost", 'name = f"{seed}/{stream}/{step}".encode()', 'name = f"{stream}/{step}".encode()'),
        ("a step is lost", 'name = f"{seed}/{stream}/{step}".encode()', 'name = f"{seed}/{stream}".encode()'),
        ("the top bit of a seed is always 0", ">> (64 - _SEED_BITS)", ">> (65 - _SEED_BITS)"),
    ),
    *defects(
        "tests/mechanisms/test_dropout.py",
        "randomness.py",
        (
            "survivors of dropout are not scaled up",
            "tensor * (1.0 / (1.0 - probability)), 0.0)",
            "tensor, 0.0)",
        ),
    ),
    *defects(
        "tests/tasks/test_dataset.py",
        "tasks/dataset.py",
        ("held-out samples are training samples", 'stream(seed, "held_out")', 'stream(seed, "train")'),
        (
            "overlap with the training set is not counted",
            "    return sum(tuple(row) in known",
            "    return 0 * sum(tuple(row) in known",
        ),
    ),
    *defects(
        "tests/model/test_classifier.py",
        "model/block.py",
        (
            "dropout of a block stays on in evaluation",
            "        rate = self.dropout if self.training else 0.0\n        if self._can_be_fused",
            "        rate = self.dropout\n        if self._can_be_fused",
        ),
        (
            "dropout of the MLP stays on in evaluation",
            "        rate = self.dropout if self.training else 0.0\n        hidden",
            "        rate = self.dropout\n        hidden",
        ),
    ),
    *defects(
        "tests/model/test_classifier.py",
        "model/self_attention.py",
        (
            "dropout of attention stays on in evaluation",
            "active = module.training or config.attention_dropout_in_evaluation",
            "active = True",
        ),
        (
            "the temperature is forgotten",
            "self.scale = config.inverse_temperature / math.sqrt",
            "self.scale = 1.0 / math.sqrt",
        ),
    ),
    *defects(
        "tests/model/test_classifier.py",
        "model/classifier.py",
        (
            "a global token counts as padding",
            "F.pad(real, (0, self.config.num_globals), value=True)",
            "F.pad(real, (0, self.config.num_globals), value=False)",
        ),
    ),
    *defects(
        "tests/training/test_loop.py",
        "training/loop.py",
        (
            "the order of samples is that of every epoch",
            'stream(seed, "order", epoch)',
            'stream(seed, "order")',
        ),
        (
            "every epoch has the noise of the first",
            'stream(seed, "noise", (epoch - 1) * num_batches + index)',
            'stream(seed, "noise", index)',
        ),
        (
            "gradients are not cleared",
            "    optimiser.zero_grad()\n    loss.backward()",
            "    loss.backward()",
        ),
        (
            "a loss that is not finite goes on",
            "    if not torch.isfinite(loss.detach() + clipping.norm):",
            "    if False:",
        ),
        (
            "the last epoch is left out",
            "range(first_epoch, settings.epochs + 1)",
            "range(first_epoch, settings.epochs)",
        ),
        (
            "a run stops one look after its target",
            "train_accuracy >= settings.stop_at",
            "train_accuracy > settings.stop_at",
        ),
    ),
    *defects(
        "tests/training/test_loop.py",
        "training/observers.py",
        (
            "a checkpoint is of the step after",
            "model = _copies(self.model.state_dict())",
            "model = dict(self.model.state_dict())",
        ),
        ("the best epoch is the last one", "if score > self.best_score:", "if score >= -1:"),
    ),
    *defects(
        "tests/training/test_loop.py",
        "training/evaluation.py",
        (
            "evaluation is not in evaluation mode",
            "    with evaluation_mode(model):\n        for logits",
            "    if model:\n        for logits",
        ),
    ),
    *defects(
        "tests/training/test_loop.py",
        "training/optimiser.py",
        ("learning rates decay an epoch early", "** max(epoch - 1, 0)", "** epoch"),
    ),
    *defects(
        "tests/training/test_clipping.py",
        "training/optimiser.py",
        (
            "gradients are clipped all together where groups are asked for",
            "parts = groups if settings.clip_per_group else [every]",
            "parts = [every]",
        ),
    ),
    *defects(
        "tests/training/test_resume.py",
        "training/optimiser.py",
        (
            "the optimiser forgets its momentum",
            '    optimiser.load_state_dict({"state": state,',
            '    optimiser.load_state_dict({"state": {},',
        ),
    ),
    *defects(
        "tests/training/test_resume.py tests/training/test_attempts.py",
        "training/runner.py",
        (
            "a journal that lost epochs is not noticed",
            "    return epochs == list(range(last_epoch + 1))",
            "    return True",
        ),
        (
            "other numerics are not noted",
            'if earlier and not same_numerics(earlier[-1], environment["numerics"]):',
            "if False:",
        ),
        (
            "a run that was resumed trains an epoch twice",
            "spec.seed, resumed_after + 1, watchers)",
            "spec.seed, resumed_after, watchers)",
        ),
        (
            "checkpoints of an abandoned future stay",
            "remove_after(directory.checkpoints, kind, resumed_after)",
            "pass",
        ),
    ),
    *defects(
        "tests/execution/test_interruption.py",
        "training/runner.py",
        (
            "Ctrl-C saves nothing",
            "        with suppress(RunBusy):\n            keeper.save()\n        raise\n",
            "        raise\n",
        ),
    ),
    *defects(
        "tests/execution/test_interruption.py",
        "execution/worker.py",
        (
            "a worker does not end with its driver",
            "        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)\n",
            "        pass\n",
        ),
        (
            "a second request to end disturbs the saving",
            "        signal.signal(each, signal.SIG_IGN)\n",
            "        signal.getsignal(each)\n",
        ),
    ),
    *defects(
        "tests/studies/test_execution.py",
        "execution/schedule.py",
        (
            "a run that fails is tried once too often",
            'message["again"] and self.tries[name] < self.attempts',
            'message["again"] and self.tries[name] <= self.attempts',
        ),
        (
            "a full disk fails one run after the other",
            'if message.get("errno") in _CONCERNS_ALL:',
            "if False:",
        ),
        ("waiting for another process counts as an attempt", "        self.tries[name] -= 1\n", ""),
    ),
)
