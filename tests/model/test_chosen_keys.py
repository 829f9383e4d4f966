"""Keys that something else than the scores of the layer chose: the task, the untrained model, or noise."""

import copy
import itertools
import math

import pytest
import torch

from semfocus import capture
from semfocus.kernels.cpu.library import without_kernels
from semfocus.mechanisms import TopK
from semfocus.model import Classifier, LanguageModel, ModelConfig
from semfocus.model.block import Block
from semfocus.model.self_attention import noisy_choice, normal_noise
from semfocus.randomness import stream
from semfocus.tasks import TASKS

LENGTH, WIDTH, K = 9, 6, 3


def config(**changes):
    sizes = {"vocab_size": 5, "num_classes": 3, "max_length": LENGTH, "d_model": WIDTH, "d_mlp": 8}
    return ModelConfig(**sizes | {"dropout": 0.0, "num_blocks": 2} | changes)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def tokens_of(num=6, seed=0):
    return torch.randint(4, (num, LENGTH), generator=seeded(seed))


def padding():
    real = torch.ones(6, LENGTH, dtype=torch.bool)
    real[1, 6:] = False
    real[4, 2:] = False
    return real


def results(layer, x, mask, chosen):
    x = x.clone().requires_grad_()
    output = layer(x, mask, stream(0, "noise"), chosen)
    upstream = torch.randn(output.shape, dtype=x.dtype, generator=seeded(1))
    return [output, *torch.autograd.grad(output, [x, *layer.parameters()], upstream)]


def choices(heads):
    whole = torch.rand(6, heads, LENGTH, LENGTH, generator=seeded(2)) > 0.6
    whole[0, :, 3] = False  # a query without any key
    return whole, torch.rand(6, 1, 1, LENGTH, generator=seeded(3)) > 0.5


@pytest.mark.parametrize("heads", [1, 2])
@pytest.mark.parametrize("dropout", [0.0, 0.3])
@pytest.mark.parametrize("pattern", ["full", f"top_k({K})"])
def test_fused_plain_and_watched_layers_keep_the_chosen_keys(heads, dropout, pattern):
    layer = Block(config(pattern=pattern, num_heads=heads, dropout=dropout), is_first=True).double()
    x = torch.randn(6, LENGTH, WIDTH, dtype=torch.float64, generator=seeded(1))
    for mask, chosen in itertools.product((None, padding()[:, None, None, :]), choices(heads)):
        given = chosen if mask is None else chosen & mask
        fused = results(layer, x, mask, given)
        with without_kernels():
            plain = results(layer, x, mask, given)
        with capture(layer) as traces:
            watched = results(layer, x, mask, given)
        assert torch.equal(traces[0].kept, given.expand(6, heads, LENGTH, LENGTH))
        for right, *others in zip(plain, fused, watched, strict=True):
            for each in others:
                torch.testing.assert_close(each, right, rtol=1e-10, atol=1e-12)


def test_a_trace_has_the_scores_of_all_allowed_keys():
    layer = Block(config(pattern="full"), is_first=True)
    mask, chosen = padding()[:, None, None, :], choices(1)[0]
    with capture(layer) as (traces), torch.no_grad():
        layer(torch.randn(6, LENGTH, WIDTH, generator=seeded()), mask, None, chosen & mask)
    assert torch.equal(traces[0].scores > -torch.inf, mask.expand(6, 1, LENGTH, LENGTH))
    visible = traces[0].scores.masked_fill(~traces[0].kept, -torch.inf)
    has_keys = traces[0].kept.any(-1)
    torch.testing.assert_close(traces[0].weights[has_keys], visible[has_keys].softmax(-1))
    assert traces[0].weights[~has_keys].eq(0).all()


class TestRelevant:
    def test_every_query_attends_to_the_keys_that_decide_the_label(self):
        task = TASKS["even_pairs"]
        sizes = {"vocab_size": task.vocab_size, "num_classes": 2, "selection": "relevant", "num_heads": 2}
        model = Classifier(config(**sizes), 0, task.relevant)
        tokens = task.sample(20, (3, LENGTH), seeded())[0]
        real = task.real(tokens)
        with capture(model) as traces, torch.no_grad():
            seen = model(tokens, real)
        wanted = task.relevant(tokens)[:, None, None, :].expand(20, 2, LENGTH, LENGTH)
        assert all(torch.equal(each.kept, wanted) for each in traces)
        assert len(traces) == 2
        with torch.no_grad():
            torch.testing.assert_close(model(tokens, real), seen)
            assert not torch.allclose(
                Classifier(config(**sizes | {"selection": None}), 0)(tokens, real), seen
            )

    def test_padding_to_a_multiple_adds_no_keys(self):
        task = TASKS["even_pairs"]
        sizes = {"vocab_size": task.vocab_size, "num_classes": 2, "selection": "relevant"}
        tokens = task.sample(5, LENGTH, seeded())[0]
        found = []
        for multiple in (1, 4):
            model = Classifier(config(**sizes, pad_to_multiple=multiple), 0, task.relevant)
            with capture(model) as traces, torch.no_grad():
                found.append(model(tokens))
            assert (traces[0].kept.sum(-1) == 2).all()
        torch.testing.assert_close(*found)

    def test_the_function_and_the_setting_belong_together(self):
        with pytest.raises(ValueError, match="belongs to selection='relevant', got 'relevant' and None"):
            Classifier(config(selection="relevant"))
        with pytest.raises(ValueError, match="belongs to selection='relevant', got None"):
            Classifier(config(), relevant=TASKS["parity"].relevant)


def disturbed(model):
    """The same model after some training."""
    with torch.no_grad():
        for index, parameter in enumerate(model.parameters()):
            parameter += 0.5 * torch.randn(parameter.shape, generator=seeded(index)).to(parameter.dtype)
    return model


SIZES = {"pattern": f"top_k({K})", "num_heads": 2}


class TestInitial:
    @pytest.mark.parametrize("kind", [Classifier, LanguageModel])
    def test_the_untrained_model_chooses_layer_by_layer_whatever_is_learned(self, kind):
        sizes = SIZES | {"causal": kind is LanguageModel}
        untrained = kind(config(**sizes), seed=3).eval()
        model = disturbed(kind(config(**sizes, selection="initial", dropout=0.2), seed=3))
        with capture(untrained) as before, torch.no_grad():
            untrained(tokens_of(), padding())
        with capture(model) as after, torch.no_grad():
            seen = model(tokens_of(), padding(), generator=seeded())
        plain = disturbed(kind(config(**sizes, dropout=0.2), seed=3))
        with capture(plain) as own, torch.no_grad():
            plain(tokens_of(), padding(), generator=seeded())
        assert len(after) == 2
        for first, kept, freely in zip(before, after, own, strict=True):
            assert torch.equal(first.kept, kept.kept)
            assert not torch.equal(freely.kept, kept.kept)
            assert not torch.allclose(first.scores, kept.scores)
        with torch.no_grad():
            torch.testing.assert_close(model(tokens_of(), padding(), generator=seeded()), seen)

    def test_it_is_no_part_of_the_model(self):
        torch.manual_seed(0)
        plain, model = Classifier(config(**SIZES)), Classifier(config(**SIZES, selection="initial"))
        assert list(plain.state_dict()) == list(model.state_dict())
        assert len(list(plain.parameters())) == len(list(model.parameters()))
        with capture(model) as traces, torch.no_grad():
            model(tokens_of())
        assert [each.layer for each in traces] == [0, 1]
        model(tokens_of()).sum().backward()
        assert all(each.grad is None for initial in model._initial for each in initial.parameters())

    def test_it_follows_the_model_to_another_type_and_into_a_copy(self):
        model = disturbed(Classifier(config(**SIZES, selection="initial"), seed=0)).double()
        (initial,) = model._initial
        assert initial.readout.weight.dtype == torch.float64
        copied = copy.deepcopy(model)
        assert copied._initial[0] is not initial
        with torch.no_grad():
            assert torch.equal(copied(tokens_of()), model(tokens_of()))

    def test_at_the_start_it_is_plain_top_k(self):
        plain, model = (Classifier(config(**SIZES, selection=each), 0).double() for each in (None, "initial"))
        found = [each(tokens_of(), padding()) for each in (plain, model)]
        torch.testing.assert_close(*found, rtol=1e-10, atol=1e-12)
        gradients = [
            torch.autograd.grad(each.square().sum(), list(m.parameters()), allow_unused=True)
            for each, m in zip(found, (plain, model), strict=True)
        ]
        for ours, right in zip(*gradients, strict=True):
            torch.testing.assert_close(ours, right, rtol=1e-8, atol=1e-12)


class TestNoise:
    def test_the_numbers_are_standard_normal_and_a_function_of_seed_and_place(self):
        noise = normal_noise(torch.Size([200, 300]), 5, torch.device("cpu"))
        assert float(noise.mean()) == pytest.approx(0, abs=0.02)  # 5 standard errors
        assert float(noise.square().mean()) == pytest.approx(1, abs=0.03)
        assert float((noise < 1).double().mean()) == pytest.approx(0.8413, abs=0.01)
        assert noise.isfinite().all()
        assert torch.equal(noise, normal_noise(torch.Size([200, 300]), 5, torch.device("cpu")))
        assert not torch.equal(noise, normal_noise(torch.Size([200, 300]), 6, torch.device("cpu")))

    @pytest.mark.parametrize("noise", [0.0, 0.5, 5.0])
    def test_by_hand(self, noise):
        """Noise of so many standard deviations of the allowed scores of the row, added before the choice."""
        scores = torch.randn(4, 2, 7, 8, generator=seeded(), dtype=torch.float64) * 3 + 10
        allowed = torch.rand(4, 1, 1, 8, generator=seeded(1)) > 0.3
        kept = noisy_choice(TopK(K), scores, allowed, noise, 7)
        drawn = normal_noise(scores.shape, 7, scores.device)
        for place in itertools.product(range(4), range(2), range(7)):
            row, may = scores[place], allowed[place[0], 0, 0]
            disturbed = row + noise * row[may].std(correction=0) * drawn[place]
            best = sorted(torch.where(may)[0].tolist(), key=lambda key: -float(disturbed[key]))[:K]
            assert sorted(best) == torch.where(kept[place])[0].tolist()

    def test_more_noise_chooses_fewer_of_the_best(self):
        scores = torch.randn(200, 20, generator=seeded())
        allowed = torch.ones_like(scores, dtype=torch.bool)
        best = TopK(5).keep(scores, allowed)
        shares = [
            float((noisy_choice(TopK(5), scores, allowed, noise, 1) & best).sum() / best.sum())
            for noise in (0.0, 0.5, 1.0, 100.0)
        ]
        assert shares[0] == 1
        assert shares == sorted(shares, reverse=True)
        assert 0.6 < shares[1] < 0.9
        assert shares[3] == pytest.approx(0.25, abs=0.08)

    def test_the_softmax_sees_clean_scores_and_only_the_choice_is_noisy(self):
        plain, model = (Classifier(config(**SIZES, selection_noise=each), 0) for each in (0.0, 2.0))
        with capture(plain) as before, capture(model) as after, torch.no_grad():
            plain(tokens_of(), padding())
            seen = model(tokens_of(), padding(), generator=seeded())
        torch.testing.assert_close(after[0].scores, before[0].scores)
        number = padding().sum(1).clamp(max=K)[:, None, None].expand(6, 2, LENGTH)
        assert all(torch.equal(each.kept.sum(-1), number) for each in after)
        assert not torch.equal(after[0].kept, before[0].kept)
        for each in after:
            visible = each.scores.masked_fill(~each.kept, -torch.inf)
            torch.testing.assert_close(each.weights, visible.softmax(-1))
        with torch.no_grad():  # on the kernels, with the same random numbers
            torch.testing.assert_close(model(tokens_of(), padding(), generator=seeded()), seen)
            assert not torch.allclose(model(tokens_of(), padding(), generator=seeded(1)), seen)

    def test_the_kernels_and_pytorch_agree_and_the_fused_block_steps_aside(self):
        layer = Block(config(pattern=f"top_k({K})", selection_noise=1.0, dropout=0.2), is_first=True).double()
        x = torch.randn(6, LENGTH, WIDTH, dtype=torch.float64, generator=seeded())
        with torch.no_grad():
            assert not layer._can_be_fused(x, None)
        ours = results(layer, x, None, None)
        with without_kernels():
            right = results(layer, x, None, None)
        for each, expected in zip(ours, right, strict=True):
            torch.testing.assert_close(each, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"selection": "best"}, "'relevant' or 'initial'"),
        ({"selection": "relevant", "pattern": "top_k(3)"}, r"pattern must be full, got top_k\(3\)"),
        ({"selection": "relevant", "projections": "joint"}, "needs projections='separate'"),
        ({"selection": "relevant", "match_entropy": "top_k(3)"}, "does not go with match_entropy"),
        ({"selection": "initial"}, "chooses by score, got full"),
        ({"selection": "initial", "pattern": "banded(3)"}, r"chooses by score, got banded\(3\)"),
        ({"selection": "initial", "pattern": "random(3)"}, r"chooses by score, got random\(3\)"),
        ({"selection": "initial", "pattern": "top_k(3)+G1"}, "does not go with global tokens"),
        ({"selection_noise": 1.0}, "selection_noise=1 needs a pattern that chooses by score, got full"),
        ({"selection_noise": 1.0, "pattern": "top_k(3)", "selection": "initial"}, "not one by selection"),
        ({"selection_noise": 1.0, "pattern": "top_k(3)", "score_clip": 1.0}, "clipped scores"),
        ({"selection_noise": -1.0, "pattern": "top_k(3)"}, "greater than or equal to 0"),
        ({"selection_noise": math.nan, "pattern": "top_k(3)"}, "finite number"),
    ],
)
def test_what_makes_no_sense_is_refused_in_one_line(changes, message):
    with pytest.raises(ValueError, match=message) as caught:
        config(**changes)
    assert len(caught.value.errors()) == 1
