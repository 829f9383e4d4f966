"""Attention maps as plain values: what the model computed, position by position."""

import json

import pytest
import torch

from semfocus import capture
from semfocus.measurements.maps import MOST_CELLS, _token_text, attention_maps
from semfocus.runs import Store
from semfocus.tasks import TextTask
from semfocus.training import dataset_of, run
from semfocus.training.replay import model_at


def looked(store: Store, spec, **options):
    run(spec, store)
    trained = model_at(store.directory(spec))
    return trained, attention_maps(trained, **options)


def test_weights_kept_keys_and_marks_are_those_of_the_model(store: Store, tiny_spec) -> None:
    spec = tiny_spec(model={"num_blocks": 2, "num_heads": 2})
    trained, maps = looked(store, spec, sequence=3)
    tokens = dataset_of(spec).held_out.tokens[3:4]
    with torch.no_grad(), capture(trained.model.eval()) as traces:
        logits = trained.model(tokens)
    assert maps["symbols"] == [str(each) for each in tokens[0].tolist()]
    assert maps["relevant"] == [True, False, False, False, False, True]
    assert maps["predicted"] == str(int(logits.argmax()))
    assert [(each["layer"], each["head"]) for each in maps["maps"]] == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for each in maps["maps"]:
        trace = traces[each["layer"]]
        assert torch.allclose(torch.tensor(each["weights"]), trace.weights[0, each["head"]], atol=1e-4)
        assert each["kept"] == trace.kept[0, each["head"]].int().tolist()
    json.dumps(maps, allow_nan=False)


def test_padding_and_global_tokens_have_names(store: Store, tiny_spec) -> None:
    spec = tiny_spec(pattern="banded(3)+G1", training={"length": [3, 6]})
    _, maps = looked(store, spec, sequence=0, data="train")
    tokens = dataset_of(spec).train.tokens[0].tolist()
    assert maps["symbols"] == [*("pad" if each == 2 else str(each) for each in tokens), "G1"]
    assert len(maps["relevant"]) == len(maps["symbols"]) == len(maps["maps"][0]["weights"]) == 7
    assert maps["relevant"][-1] is False


def test_full_attention_outlines_nothing_and_long_sequences_are_blocks(store: Store, tiny_spec) -> None:
    spec = tiny_spec(pattern="full", task="parity", training={"length": 2 * MOST_CELLS + 1, "epochs": 0})
    trained, maps = looked(store, spec)
    assert (maps["block"], maps["maps"][0]["kept"]) == (3, None)
    weights = torch.tensor(maps["maps"][0]["weights"])
    with torch.no_grad(), capture(trained.model.eval()) as traces:
        trained.model(dataset_of(spec).held_out.tokens[:1])
    assert weights.shape == (43, 43)
    assert weights[1, 2] == pytest.approx(float(traces[0].weights[0, 0, 3:6, 6:9].max()), abs=1e-4)


def test_a_sequence_that_is_not_there(store: Store, tiny_spec) -> None:
    with pytest.raises(ValueError, match="the held_out data has sequences 0 to 29, not 30"):
        looked(store, tiny_spec(), sequence=30)


def test_bytes_that_are_no_characters_go_by_their_numbers(tmp_path) -> None:
    (tmp_path / "text.txt").write_text("a€" * 20)
    task = TextTask(tmp_path / "text.txt")
    assert [_token_text(task, each) for each in "a€".encode()] == ["a", r"\xe2", r"\x82", r"\xac"]
    assert task.text_of(task.tokens_of("a€")) == "a€"


def test_pieces_that_are_no_characters_go_by_their_names(tmp_path) -> None:
    pytest.importorskip(
        "sentencepiece", reason="sentencepiece is not installed: pip install 'semfocus[text]'"
    )
    (tmp_path / "text.txt").write_text("ab ba " * 200)
    task = TextTask(tmp_path / "text.txt", "bpe:265")
    names = [_token_text(task, each) for each in task.tokens_of("€").tolist()]
    assert [each for each in names if each.startswith("<0x")] == ["<0xE2>", "<0x82>", "<0xAC>"]
