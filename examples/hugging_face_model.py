"""Top-k attention in a Hugging Face model: switch, generate, save, load, switch back.

Run it: python examples/hugging_face_model.py   (needs `pip install 'semfocus[hf]'`; downloads nothing)
"""

import tempfile

import torch
import transformers
from transformers import LlamaConfig, LlamaForCausalLM

import semfocus
from semfocus import TopK


def tiny_model() -> LlamaForCausalLM:
    """A small random model; yours comes from `from_pretrained`."""
    config = LlamaConfig(
        vocab_size=64,
        hidden_size=32,
        intermediate_size=64,
        num_hidden_layers=3,
        num_attention_heads=4,
        num_key_value_heads=2,
        initializer_range=0.3,
        pad_token_id=0,
        eos_token_id=None,
    )
    return LlamaForCausalLM(config).eval()


def main() -> None:
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    model = tiny_model()
    prompt = torch.randint(1, 64, (1, 12))
    options = {"max_new_tokens": 8, "do_sample": False, "attention_mask": torch.ones_like(prompt)}
    before = model.generate(prompt, **options)

    # The first layer stays as it is; the others keep the four keys of highest score.
    print(semfocus.apply(model, TopK(4), layers=[1, 2]))
    switched = model.generate(prompt, **options)
    print("full attention:", before[0, 12:].tolist())
    print("top_k(4):      ", switched[0, 12:].tolist())

    with torch.inference_mode(), semfocus.capture(model) as traces:
        model(prompt)
    for trace in traces:
        print(f"layer {trace.layer} ({trace.name}): at most {int(trace.kept.sum(-1).max())} keys kept")

    with tempfile.TemporaryDirectory() as folder:
        model.save_pretrained(folder)
        loaded = LlamaForCausalLM.from_pretrained(folder).eval()
    semfocus.apply(loaded)  # without a pattern: the one that the config remembers
    assert torch.equal(loaded.generate(prompt, **options), switched)
    print("saved and loaded: the same tokens")

    semfocus.restore(model)
    assert torch.equal(model.generate(prompt, **options), before)
    print("restored: the tokens of full attention")


if __name__ == "__main__":
    main()
