"""Models of transformers put together of a part that can be switched and one that cannot."""

import pytest
import torch
from torch import nn

from semfocus import TopK, apply, restore
from tests.integrations.tiny_configs import tiny_config, tiny_model, transformers
from tests.integrations.tiny_models import build, inputs_of, tokens

pytestmark = pytest.mark.hf


def test_a_dual_encoder_with_a_part_that_attends_by_itself_is_refused():
    """LiLT computes its attention in a class whose name says so, under functions that reading does not reach."""
    text = tiny_config(transformers.LiltConfig, channel_shrink_ratio=2, hidden_size=48)
    image = tiny_config(transformers.ViTConfig)
    config = transformers.VisionTextDualEncoderConfig.from_vision_text_configs(image, text, projection_dim=16)
    model = transformers.VisionTextDualEncoderModel(config).eval()
    inputs = {"input_ids": tokens(), "pixel_values": torch.randn(2, 3, 16, 16)}
    before = model(**inputs).logits_per_image
    apply(model, TopK(2))
    with pytest.raises(ValueError, match=r"in part only: Lilt\w+ text_model.*modeling_lilt.py:\d+"):
        model(**inputs)
    restore(model)
    assert torch.equal(model(**inputs).logits_per_image, before)
    apply(model.vision_model, TopK(2))  # as the error advises
    model(**inputs)


class Both(nn.Module):
    def __init__(self, other):
        super().__init__()
        self.image, self.other = build("vit"), other

    def forward(self, pixel_values, input_ids):
        return self.image(pixel_values).logits, self.other(input_ids).last_hidden_state


@pytest.mark.parametrize("name", ["CodeGen", "ImageGPT"])
def test_a_model_beside_one_that_attends_by_itself_is_refused(name):
    config = tiny_config(getattr(transformers, f"{name}Config"), rotary_dim=4)
    model = Both(tiny_model(getattr(transformers, f"{name}Model"), config, torch.float32)).eval()
    inputs = inputs_of("vit") | {"input_ids": tokens()}
    apply(model, TopK(2))
    with pytest.raises(ValueError, match=r"in part only: \w+ other.*modeling_\w+.py:\d+"):
        model(**inputs)
