"""Defects of what is on disk: writing, locks, checkpoints, journals, names."""

from tests.mutants.mutant import Mutant, defects

STORAGE: tuple[Mutant, ...] = (
    *defects(
        "tests/test_durable.py",
        "durable.py",
        (
            "a file is not forced to disk",
            "    _write_all(file, content)\n    sync(file)\n",
            "    _write_all(file, content)\n",
        ),
        (
            "a rename is not forced to disk",
            "        raise\n    sync_directory(path.parent)\n\n\ndef _is_stream",
            "        raise\n\n\ndef _is_stream",
        ),
        (
            "the rename comes before the content",
            "            write_whole(file, content)\n            check()\n            replace(temporary, path)  # while",
            "            check()\n            replace(temporary, path)\n            write_whole(file, content)  # while",
        ),
        (
            "a short write counts as whole",
            "        left = left[write(file, left) :]",
            "        write(file, left)\n        return",
        ),
        (
            "the temporary file of a writer is taken for a leftover",
            "                    lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n                    unlink(path)",
            "                    unlink(path)",
        ),
        (
            "a link is followed when a tree is removed",
            "    if not path.is_symlink() and path.is_dir():\n        for each",
            "    if path.is_dir():\n        for each",
        ),
    ),
    *defects(
        "tests/faults/test_faults.py",
        "runs/checkpoints.py",
        (
            "a checkpoint is moved to its place before its files are forced to disk",
            "                write_whole(file, content)\n",
            "                file.write(content)\n",
        ),
        ("the names in a checkpoint are not forced to disk", "        sync_directory(partial)\n", ""),
        ("the name of a checkpoint is not forced to disk", "    sync_directory(target.parent)\n", ""),
    ),
    *defects(
        "tests/runs/test_checkpoints.py",
        "runs/checkpoints.py",
        ("a damaged file of a checkpoint is loaded", "hexdigest() != digest:", 'hexdigest() == "":'),
        (
            "a checkpoint of another epoch is loaded",
            '        if manifest["epoch"] != _epoch_of(path):',
            "        if False:",
        ),
        (
            "a generation too many stays",
            "_generations(parent, kind)[keep:]",
            "_generations(parent, kind)[keep + 1 :]",
        ),
        (
            "a pickle in a checkpoint is loaded",
            "= load(content)\n",
            '= load(content) if content[:1] != b"\\x80" else __import__("pickle").loads(content)\n',
        ),
        (
            "a folder of another name counts as a checkpoint",
            'removeprefix(f"{kind}-").isdigit()',
            'removeprefix(f"{kind}-") != ""',
        ),
    ),
    *defects(
        "tests/training/test_resume.py",
        "training/observers.py",
        ("a generation too few is kept", "GENERATIONS = 2", "GENERATIONS = 1"),
    ),
    *defects(
        "tests/runs/test_journal.py",
        "runs/journal.py",
        (
            "the checksum of a line is not looked at",
            'event.pop("crc", None) != _checksum(event)',
            'event.pop("crc", None) is None',
        ),
        (
            "a torn line is not cut before the next one",
            "        return _end_of_last_line(descriptor, size)\n",
            "        return size\n",
        ),
        (
            "a torn last line is read",
            '*lines, _cut = read(path).split(b"\\n")',
            'lines = read(path).split(b"\\n")',
        ),
    ),
    *defects(
        "tests/runs/test_journal.py",
        "runs/directory.py",
        (
            "an attempt forgets the epoch that it continued after",
            'if epoch <= event["resumed_after"]}',
            'if epoch < event["resumed_after"]}',
        ),
    ),
    *defects(
        "tests/faults/test_takeovers.py",
        "durable.py",
        (
            "a process that was stopped writes beside the one that went on with its run",
            "            check()\n            replace(temporary, path)",
            "            replace(temporary, path)",
        ),
    ),
    *defects(
        "tests/faults/test_takeovers.py",
        "runs/directory.py",
        (
            "a process that was stopped does not look at the journal",
            "if self._left_at is not None and self._left_at != self._journal_size():",
            "if self._left_at is not None and self._left_at < 0:",
        ),
    ),
    *defects(
        "tests/runs/test_store.py",
        "runs/directory.py",
        (
            "the lock of a run is not taken",
            "                lock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)\n                break",
            "                break",
        ),
        ("the lock of a run is shared", "fcntl.LOCK_EX | fcntl.LOCK_NB", "fcntl.LOCK_SH | fcntl.LOCK_NB"),
        (
            "the lock of a run is let go at once",
            "                time.sleep(0.02)\n        yield\n",
            "                time.sleep(0.02)\n    yield\n",
        ),
        (
            "nobody waits for a lock",
            "            except BlockingIOError:\n                if time.monotonic() >= patient_until:",
            "            except BlockingIOError:\n                if True:",
        ),
    ),
    *defects(
        "tests/measurements/test_lengths.py",
        "measurements/lengths.py",
        ("a measurement is kept without the lock", "with directory.owned(_PATIENCE):  #", "if directory:  #"),
        (
            "rows of an older checkpoint count as known",
            'if last is None or row.get("epoch", last) == last}',
            "}",
        ),
        (
            "an accuracy at another length is that of one sample",
            "trained.at_length(length, self.num)",
            "trained.at_length(length, 1)",
        ),
    ),
    *defects(
        "tests/measurements/test_lengths.py",
        "training/trained_run.py",
        (
            "a measurement falls back to an older checkpoint",
            "loaded, problems = load_epoch(directory.checkpoints, epoch, (checkpoint,))",
            'loaded, problems = __import__("semfocus.runs.checkpoints", fromlist=["load_newest"]).load_newest(directory.checkpoints, checkpoint)',
        ),
    ),
    *defects(
        "tests/runs/test_spec.py",
        "runs/spec.py",
        (
            "the name of a run ignores its seed",
            'values = self.model_dump(mode="json")\n        if',
            'values = self.model_dump(mode="json", exclude={"seed"})\n        if',
        ),
        (
            "the name of a run says where its data file lies",
            '            values["task"] = self._task.name\n        if',
            "            pass\n        if",
        ),
    ),
    *defects(
        "tests/runs/test_record.py",
        "runs/record.py",
        ("the digest of a result ignores the curve", '"run", "probes")', '"run", "probes", "curve")'),
        ("the digest of a result ignores the weights", '"run", "probes")', '"run", "probes", "weights")'),
        ("the digest of a result counts seconds", 'if "seconds" not in key}', "if key}"),
    ),
    *defects(
        "tests/runs/test_record.py",
        "runs/outcome.py",
        (
            "95 % of the training set is not the target yet",
            'row["train_accuracy"] >= TARGET_ACCURACY',
            'row["train_accuracy"] > TARGET_ACCURACY',
        ),
    ),
    *defects(
        "tests/runs/test_plan.py",
        "runs/plan.py",
        (
            "a name becomes a path",
            'readable = re.sub(r"[^A-Za-z0-9_.]+", "_", plan.name).lstrip(".")[:60]',
            "readable = plan.name",
        ),
        ("a file that is no plan is read as one", "        if _is_sound(plan):\n", "        if plan:\n"),
    ),
    *defects(
        "tests/report/test_hostile.py",
        "report/pages/template.py",
        ("a text is not escaped in a page", "autoescape=True", "autoescape=False"),
        ("characters that nobody sees stay", "_unbroken(visible(value))", "_unbroken(str(value))"),
    ),
)
