"""Every family of transformers that a tiny config builds: is it switched, refused and why, and is full attention stock?

python -m tests.integrations.survey [FAMILY ...]    prints a line per family, and the table of docs/hugging_face.md
python -m tests.integrations.survey --page docs/hugging_face_families.md    writes the page with all families, too
"""

import argparse
import inspect
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

import semfocus
from semfocus.integrations.verification import distance
from tests.integrations.tiny_configs import FIRST_SPECIAL, NotBuiltError, tiny_config, tiny_model
from tests.integrations.tiny_models import transformers

AUTO = transformers.models.auto
#: more than that is no tiny model, whatever its config says
MOST_PARAMETERS = 30_000_000
LENGTH = 12

OUTCOMES = {
    "equal": "switched; full attention of ours equals the stock model",
    "eager": "switched; full attention of ours equals stock eager attention, which its SDPA does not",
    "differs": "switched; full attention of ours differs from the stock model",
    "not run": "switched; no inputs that the survey knows how to make",
    "refused": "refused by `apply`, and left as it was",
    "stopped": "refused in the first forward pass",
    "no attention": "no attention that goes through the interface: nothing to switch",
    "not built": "not built from a tiny config",
}


@dataclass(frozen=True)
class Row:
    """What became of a family."""

    family: str
    model: str
    outcome: str
    reason: str = ""


def families() -> list[str]:
    names = AUTO.modeling_auto.MODEL_MAPPING_NAMES.keys() | CAUSAL.keys()
    return sorted(names & AUTO.configuration_auto.CONFIG_MAPPING_NAMES.keys())


CAUSAL = AUTO.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING_NAMES


def look_at(family: str) -> Row:
    """Build, run, switch, run, restore, run."""
    try:
        model = build(family)
    except NotBuiltError as error:
        return Row(family, "", "not built", str(error))
    name = type(model).__name__
    inputs, stock = first_that_runs(model)
    try:
        semfocus.apply(model, "full")
    except ValueError as error:
        outcome = "no attention" if "has no attention that can be switched" in str(error) else "refused"
        return Row(family, name, outcome, str(error))
    if inputs is None:
        return Row(family, name, "not run", str(stock))
    row = _switched(family, name, model, inputs, stock)
    ours = _outputs(model, inputs) if row.outcome == "differs" else []
    semfocus.restore(model)
    if ours and _is_eager(model, inputs, ours):
        return Row(family, name, "eager", f"SDPA is apart {row.reason}")
    if row.outcome != "not run" and distance(_outputs(model, inputs), stock) != 0:
        return Row(family, name, "differs", "restore does not give back the stock model")
    return row


def _switched(family: str, name: str, model: Any, inputs: dict[str, Any], stock: list[torch.Tensor]) -> Row:
    try:
        apart = distance(_outputs(model, inputs), stock)
    except Exception as error:
        is_ours = "switched in part only" in str(error)
        return Row(family, name, "stopped" if is_ours else "differs", f"{type(error).__name__}: {error}")
    if apart > 1e-5:
        return Row(family, name, "differs", f"by {apart:.2g} of the largest output")
    return Row(family, name, "equal")


def _is_eager(model: Any, inputs: dict[str, Any], ours: list[torch.Tensor]) -> bool:
    """Stock models may leave a mask out under SDPA and not under eager attention."""
    before = model.config._attn_implementation
    try:
        model.set_attn_implementation("eager")
        return distance(ours, _outputs(model, inputs)) < 1e-5
    finally:
        model.set_attn_implementation(before)


def build(family: str, **changes: Any) -> Any:
    """The causal language model of a family, or else its bare model; on the meta device first, to see how
    large it is.
    """
    config_class = AUTO.configuration_auto.CONFIG_MAPPING[family]
    mapping = (
        AUTO.modeling_auto.MODEL_FOR_CAUSAL_LM_MAPPING
        if family in CAUSAL
        else AUTO.modeling_auto.MODEL_MAPPING
    )
    try:
        classes = mapping[config_class]
    except Exception as error:
        raise NotBuiltError(f"no class: {error}") from error
    model_class = classes[0] if isinstance(classes, tuple) else classes
    config = tiny_config(config_class, is_decoder=family in CAUSAL, use_timm_backbone=False, **changes)
    with torch.device("meta"):
        shape = tiny_model(model_class, config)
    number = sum(each.numel() for each in shape.parameters())
    if number > MOST_PARAMETERS:
        raise NotBuiltError(f"{model_class.__name__} stays large: {number / 1e6:.0f} million parameters")
    return tiny_model(model_class, config)


def first_that_runs(model: Any) -> tuple[dict[str, Any] | None, Any]:
    reason: Any = "none"
    for inputs in _candidates(model):
        try:
            stock = _outputs(model, inputs)
        except Exception as error:
            reason = f"{type(error).__name__}: {' '.join(str(error).split())[:150]}"
            continue
        if stock and all(each.isfinite().all() for each in stock[:1]):
            return inputs, stock
        reason = "no finite output"
    return None, reason


def _candidates(model: Any) -> list[dict[str, Any]]:
    """What a model of its main input may be called with."""
    draw = torch.Generator().manual_seed(0)
    main = getattr(model, "main_input_name", "input_ids")
    main = main if isinstance(main, str) else main[0]
    text = {"input_ids": torch.randint(4, FIRST_SPECIAL, (2, LENGTH), generator=draw)}
    known = inspect.signature(model.forward).parameters
    size = _image_size(model.config)
    images = [
        {"pixel_values": torch.randn(2, 3, side, side, generator=draw, dtype=torch.float64)}
        for side in dict.fromkeys((size, 32, 64, 224))
    ]
    features = [
        {main: torch.randn(2, *shape, generator=draw, dtype=torch.float64)}
        for shape in ((80, 128), (128, 80), (80, 3000), (LENGTH, 80), (128, 128))
    ]
    waves = [{"input_values": torch.randn(2, 4000, generator=draw, dtype=torch.float64)}]
    waves += [{"input_values": torch.randn(2, 1, 4000, generator=draw, dtype=torch.float64)}]
    found: list[dict[str, Any]] = []
    if main == "input_ids":
        found += [text]
    if "pixel_values" in known:
        found += [*images, *({**text, **image} for image in images)]
        found += [{"pixel_values": each["pixel_values"][:, None]} for each in images[:2]]
    if main == "input_values":
        found += waves
    if main == "input_features":
        found += features
    if "input_ids" in known and main != "input_ids":
        found += [text]
    if "decoder_input_ids" in known:
        found = [{**each, "decoder_input_ids": text["input_ids"]} for each in found] + found
    return found


def _image_size(config: Any) -> int:
    for part in (config, *(getattr(config, name, None) for name in getattr(config, "sub_configs", ()))):
        size = getattr(part, "image_size", None)
        if isinstance(size, int):
            return size
        if isinstance(size, tuple | list) and size:
            return int(size[0])
    return 32


def _outputs(model: Any, inputs: dict[str, Any]) -> list[torch.Tensor]:
    from semfocus.integrations.verification import _tensors

    torch.manual_seed(0)
    with torch.no_grad():
        return _tensors(model(**inputs))


def table(rows: list[Row]) -> str:
    """Of docs/hugging_face.md."""
    counted = Counter(row.outcome for row in rows)
    lines = ["| | families |", "|---|---|", f"| all | {len(rows)} |"]
    lines += [f"| {words} | {counted[outcome]} |" for outcome, words in OUTCOMES.items()]
    return "\n".join(lines)


_PAGE = """# Families of Hugging Face, one by one

Every family of transformers {version} and what `semfocus.apply(model, "full")` does to a tiny model
of it ([how, and what it means](hugging_face.md#what-is-honoured-what-is-refused)). Written by
`python -m tests.integrations.survey --page docs/hugging_face_families.md`; a slow test keeps it
true. The model is one class of its family: the causal language model where there is one, else the
bare model. Where a model needs a library, the survey goes without it.

{table}
"""


def page(rows: list[Row]) -> str:
    """docs/hugging_face_families.md"""
    parts = [_PAGE.format(version=transformers.__version__, table=table(rows))]
    for outcome, words in OUTCOMES.items():
        found = [row for row in rows if row.outcome == outcome]
        if not found:
            continue
        reasons = [_short(row) for row in found]
        titles = ["family", *["model"] * any(row.model for row in found), *["why"] * any(reasons)]
        parts.append(f"## {words[0].upper()}{words[1:]} ({len(found)})\n")
        parts += ["| " + " | ".join(titles) + " |", "|---" * len(titles) + "|"]
        for row, reason in zip(found, reasons, strict=True):
            cells = {"family": row.family, "model": row.model, "why": reason.replace("|", "\\|")}
            parts.append("| " + " | ".join(cells[title] for title in titles) + " |")
        parts.append("")
    return "\n".join(parts)


def _short(row: Row) -> str:
    """The reason in a few words, without numbers that differ between machines."""
    reason = " ".join(row.reason.split())
    if row.outcome in ("eager", "no attention"):
        return ""
    if library := re.search(r"requires the (\w+) library", reason):
        return f"needs {library[1]}"
    if row.outcome == "not run":
        missing = re.search(r"missing \d+ required positional arguments?: (.*)", reason)
        return f"needs {missing[1]}".replace("'", "") if missing else ""
    reason = re.sub(r"^\w+ cannot be switched: |^no tiny |^.* for validator '\w+': |\w*Error: ", "", reason)
    if row.outcome == "refused":  # without the line of code and the advice
        reason = re.sub(
            r", \w+\.py:\d+\)|\. (Its code|`with semfocus).*|; semfocus.apply.*", _closing, reason
        )
        reason = re.sub(r"(and \d+ more) modules? cannot be switched", r"\1", reason)
    return reason if len(reason) <= 160 else reason[:160].rpartition(" ")[0] + " ..."


def _closing(found: re.Match[str]) -> str:
    return ")" if found[0].endswith(")") and found[0].startswith(",") else ""


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("families", nargs="*")
    parser.add_argument("--page", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    rows = []
    for family in given.families or families():
        rows.append(look_at(family))
        print(
            f"{rows[-1].family:28} {rows[-1].outcome:13} {rows[-1].model:40} {rows[-1].reason[:400]}",
            flush=True,
        )
    print(table(rows))
    if given.page:
        given.page.write_text(page(rows), encoding="utf-8")


if __name__ == "__main__":
    main()
