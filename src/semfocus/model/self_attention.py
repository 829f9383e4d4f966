"""Self-attention under a pattern, with separate projections or the paper's joint score matrix."""

import math
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from semfocus.kernels.cpu.operations import split_three
from semfocus.mechanisms import Full, ObservableAttention, Pattern, QueryRows, parse_pattern
from semfocus.mechanisms.call import allowed_rows
from semfocus.mechanisms.reference import allowed_scores
from semfocus.model.config import ModelConfig
from semfocus.model.matching import dispersion_factors, entropy_factors
from semfocus.randomness import Seed, all_places, draw_seed, draws


def with_gradient_times(tensor: Tensor, factor: float) -> Tensor:
    """The same numbers, bit for bit; whatever gradient comes back is multiplied by the factor."""
    return tensor if factor == 1.0 else _Scaled.apply(tensor, factor)


class _Scaled(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(tensor: Tensor, factor: float) -> Tensor:
        return tensor.view_as(tensor)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Tensor, float], output: Tensor) -> None:
        ctx.factor = inputs[1]

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None]:
        return gradient * ctx.factor, None


class SelfAttention(ObservableAttention):
    """Query, key, value and output maps with biases; every head has the full width d_model."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.follow(config)
        width = config.num_heads * config.d_model
        self.query = nn.Linear(config.d_model, width)
        self.key = nn.Linear(config.d_model, width)
        self.value = nn.Linear(config.d_model, width)
        self.out = nn.Linear(width, config.d_model)

    def follow(self, config: ModelConfig) -> None:
        """Attend as this config of the same architecture says from now on."""
        self.config = config
        self.scale = config.inverse_temperature / math.sqrt(config.d_model)

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        generator: torch.Generator | None,
        chosen: Tensor | None = None,
    ) -> Tensor:
        """x (batch, length, d_model); mask (batch, 1, 1, length), True = may be attended to.

        `chosen`, broadcastable to (batch, heads, length, length): the allowed keys to keep, in place of the
        pattern's choice.
        """
        # One product for the three projections: fewer, larger operations, the same numbers.
        maps = (self.query, self.key, self.value)
        weight, bias = torch.cat([each.weight for each in maps]), torch.cat([each.bias for each in maps])
        query, key, value = split_three(F.linear(x, weight, bias))
        # Scores are linear in each of the two, so this is the factor on the gradient of the scores themselves.
        factor = self.config.score_gradient
        query, key = (self._split(with_gradient_times(each, factor)) for each in (query, key))
        if self.config.selection_noise:
            chosen = self._noisily_chosen(query, key, mask, generator)
        pattern: Pattern = self.config.pattern
        if chosen is not None and self.listeners:  # who see the scores of all allowed keys
            pattern = Chosen(chosen)
        elif chosen is not None:  # the kernels serve a mask
            pattern, mask = Full(), chosen
        factors = self._factors(query, key, mask)
        if factors is not None and not self.config.match_keeps_gradient:
            query, factors = query * factors, None
        mixed = self.attend(
            x,
            query,
            key,
            self._split(value),
            pattern,
            mask=mask,
            causal=self.config.causal,
            scale=self.scale,
            dropout=attention_dropout(self),
            generator=generator,
            score_clip=self.config.score_clip,
            score_factor=factors,
        )
        return self.out(mixed.transpose(1, 2).flatten(2))

    @torch.no_grad()
    def _factors(self, query: Tensor, key: Tensor, mask: Tensor | None) -> Tensor | None:
        """(..., length, 1): the factor at which the scores of each query are as sharp as those of another pattern."""
        config = self.config
        named = config.match_entropy or config.match_dispersion
        if named is None:
            return None
        scores, allowed = self._scores(query, key, mask)
        wanted = parse_pattern(named).keep(scores, allowed)
        if config.match_entropy is not None:
            return entropy_factors(scores, allowed, wanted)
        return dispersion_factors(scores, allowed, config.pattern.keep(scores, allowed), wanted)

    @torch.no_grad()
    def _noisily_chosen(
        self, query: Tensor, key: Tensor, mask: Tensor | None, generator: torch.Generator | None
    ) -> Tensor:
        scores, allowed = self._scores(query, key, mask)
        noise = self.config.selection_noise
        return noisy_choice(self.config.pattern, scores, allowed, noise, draw_seed(generator))

    def _scores(self, query: Tensor, key: Tensor, mask: Tensor | None) -> tuple[Tensor, Tensor]:
        """What the attention is about to compute, -inf where not allowed, and what is allowed."""
        rows = QueryRows(0, query.shape[-2], query.shape[-2], key.shape[-2])
        allowed = allowed_rows(rows, mask, self.config.causal, query.device)
        return allowed_scores(query, key, self.scale, allowed), allowed

    def _split(self, x: Tensor) -> Tensor:
        """(batch, length, heads * d_model) -> (batch, heads, length, d_model)"""
        return x.unflatten(2, (self.config.num_heads, self.config.d_model)).transpose(1, 2)


class JointSelfAttention(ObservableAttention):
    """The paper's own block: score of key j for query i is x_j' W x_i; values V x_j; no biases, scale 1."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.follow(config)
        self.score = nn.Linear(config.d_model, config.d_model, bias=False)
        self.value = nn.Linear(config.d_model, config.d_model, bias=False)

    def follow(self, config: ModelConfig) -> None:
        """As in SelfAttention."""
        self.config = config

    def forward(
        self,
        x: Tensor,
        mask: Tensor | None,
        generator: torch.Generator | None,
        chosen: Tensor | None = None,
    ) -> Tensor:
        """As in SelfAttention, with one head; the config refuses whatever would choose keys."""
        assert chosen is None
        factor = self.config.score_gradient
        mixed = self.attend(
            x,
            with_gradient_times(self.score(x), factor).unsqueeze(1),
            with_gradient_times(x, factor).unsqueeze(1),
            self.value(x).unsqueeze(1),
            self.config.pattern,
            mask=mask,
            causal=self.config.causal,
            scale=self.config.inverse_temperature,
            dropout=attention_dropout(self),
            generator=generator,
            score_clip=self.config.score_clip,
        )
        return mixed.squeeze(1)


def attention_dropout(module: SelfAttention | JointSelfAttention) -> float:
    """Off in evaluation, unless the authors' released behaviour is asked for."""
    config = module.config
    active = module.training or config.attention_dropout_in_evaluation
    return config.dropout if active else 0.0


class Chosen(Pattern):
    """Keeps the keys that are given, bool and broadcastable to (..., Lq, Lk); a value of one call, without a
    text form.
    """

    name = "chosen"
    family = "control"

    def __init__(self, kept: Tensor) -> None:
        self.kept = kept

    def keep(self, scores: Tensor, allowed: Tensor, generator: torch.Generator | None = None) -> Tensor:
        return self.kept & allowed


def noisy_choice(pattern: Pattern, scores: Tensor, allowed: Tensor, deviations: float, seed: Seed) -> Tensor:
    """What the pattern keeps of scores to which normal noise is added, its deviation a multiple of that of the row."""
    allowed = allowed.expand(scores.shape)
    number = allowed.sum(-1, keepdim=True).clamp(min=1)
    visible = scores.masked_fill(~allowed, 0.0)
    mean = visible.sum(-1, keepdim=True) / number
    spread = (visible - mean).masked_fill(~allowed, 0.0).square().sum(-1, keepdim=True).div(number).sqrt()
    noise = normal_noise(scores.shape, seed, scores.device).to(scores.dtype)
    return pattern.keep((scores + deviations * spread * noise).masked_fill(~allowed, -torch.inf), allowed)


def normal_noise(shape: torch.Size, seed: Seed, device: torch.device) -> Tensor:
    """Standard normal numbers, each a function of the seed and its place alone."""
    uniform = (draws(seed, *all_places(shape, device)).double() + 0.5) / 2**32
    return torch.erfinv(2 * uniform - 1) * math.sqrt(2)
