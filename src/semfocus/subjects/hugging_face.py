"""A Hugging Face model: a config file, or a directory with config, perhaps weights, perhaps a tokenizer."""

import hashlib
import json
import os
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from semfocus.reminder import forget
from semfocus.subjects.batch import NO_TARGET, Batch, DataKind
from semfocus.subjects.subject import Subject, logits_of, loss_of
from semfocus.subjects.vocabulary import Vocabulary

_POSITIONS = ("max_position_embeddings", "n_positions", "max_sequence_length", "seq_length")
_AFTER_PADDING = (
    "camembert",
    "data2vec-text",
    "longformer",
    "mpnet",
    "roberta",
    "roberta-prelayernorm",
    "xlm-roberta",
    "xlm-roberta-xl",
    "xmod",
)
_TOKENIZER_FILES = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "spiece.model", "tokenizer.model")

#: the usual class, the endings of the names of others, and what they are for
_CLASSES: dict[DataKind, tuple[str, str | tuple[str, ...], str]] = {
    "classification": (
        "AutoModelForSequenceClassification",
        "ForSequenceClassification",
        "classifying sequences of tokens",
    ),
    "text": ("AutoModelForCausalLM", ("ForCausalLM", "LMHeadModel"), "causal language modelling"),
    "pairs": ("AutoModelForSeq2SeqLM", "ForConditionalGeneration", "writing a target for a text"),
}


class HuggingFaceSubject(Subject):
    """Built from files alone: nothing is downloaded, and no code beside transformers' own is run."""

    def __init__(self, path: Path, kind: DataKind, classes: int, *, continued: bool) -> None:
        file = _config_file(path)
        transformers = _transformers()
        folder = path.is_dir() or path.name == "config.json"
        self.name = (path if path.is_dir() else path.parent).resolve().name if folder else path.stem
        self.directory = path if path.is_dir() else path.parent
        self.continued = continued
        self.kind = kind
        self.config = _config(transformers, file)
        self._class()  # is there one? and before anything is asked of a config that knows no tokens
        if kind == "classification":
            self.config.num_labels = classes
        tokenizer = _tokenizer(transformers, path) if path.is_dir() else None
        if tokenizer is not None and getattr(self.config, "pad_token_id", None) is None:
            self.config.pad_token_id = tokenizer.pad_token_id
        if kind != "text" and getattr(self.config, "pad_token_id", None) is None:
            self.config.pad_token_id = (
                self.config.vocab_size - 1
            )  # decoders look for the last token before padding
        self.is_encoder_decoder = kind != "text" and _is_encoder_decoder(self.config)
        if self.is_encoder_decoder:
            _complete(self.config, tokenizer)
        weights = self._weight_files() if continued else []
        if continued and not weights:
            raise ValueError(f"{path} has no weights (.safetensors) to continue from; leave --continue out")
        self.vocabulary = Vocabulary(
            getattr(self.config, "vocab_size", None),
            getattr(self.config, "pad_token_id", None) if kind != "text" else None,
            _positions(self.config),
            tokenizer,
            self.config.eos_token_id if self.is_encoder_decoder else None,
            self.config.decoder_start_token_id if self.is_encoder_decoder else None,
        )
        self.window = _window(self.config)
        self.digest = _digest(self.config.to_dict(), [*weights, *_tokenizer_files(path)])

    def make(self) -> nn.Module:
        model = self._loaded() if self.continued else self._built()
        forget(model)  # the arms decide
        return model

    def _built(self) -> nn.Module:
        cls = self._class()
        return cls._from_config(self.config) if hasattr(cls, "_from_config") else cls.from_config(self.config)

    def _loaded(self) -> nn.Module:
        try:
            return self._class().from_pretrained(
                self.directory, config=self.config, local_files_only=True, dtype=torch.float32
            )
        except (OSError, RuntimeError) as error:
            first = str(error).strip().splitlines()[0]
            raise ValueError(
                f"the weights in {self.directory} do not fit the data or the config: {first}"
            ) from None

    def arguments(self, model: nn.Module, batch: Batch) -> tuple[tuple[Any, ...], dict[str, Any]]:
        mask = {} if batch.real is None else {"attention_mask": batch.real.long()}
        before = {"decoder_input_ids": self._before(batch)} if self.is_encoder_decoder else {}
        return (), {"input_ids": batch.tokens, **mask, **before}

    def _before(self, batch: Batch) -> Tensor:
        """What the decoder has read where it writes the target; a classifier's decoder reads the tokens again."""
        written = batch.tokens if batch.targets is None else batch.targets
        before = written.roll(1, 1)
        before[:, 0] = self.config.decoder_start_token_id
        return before.masked_fill(before == NO_TARGET, self.config.pad_token_id)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        known = (each for each in (batch.targets, batch.labels, batch.tokens) if each is not None)
        labels = next(known)
        return loss_of(model(**self.arguments(model, batch)[1], labels=labels), batch)

    def class_logits(self, model: nn.Module, batch: Batch) -> Tensor | None:
        return logits_of(model(**self.arguments(model, batch)[1]))

    def _class(self) -> Any:
        """The class that the config names if it fits the data, else the usual one of its kind."""
        transformers = _transformers()
        auto_name, ending, what = _CLASSES[self.kind]
        for name in getattr(self.config, "architectures", None) or ():
            if name.endswith(ending) and hasattr(transformers, name):
                return getattr(transformers, name)
        cls = getattr(transformers, auto_name)._model_mapping.get(type(self.config), None)
        if self.kind == "text" and _is_encoder_decoder(self.config):
            alone = f'; for its decoder alone, set "architectures": ["{cls.__name__}"]' if cls else ""
            raise ValueError(
                f"{self.config.model_type} is an encoder-decoder, which reads one text and writes another: expected rows with "
                f"a text and a target (.csv, .tsv, .jsonl), got a text{alone}"
            )
        if cls is None:
            pairs = _is_encoder_decoder(self.config) and self.kind == "classification"
            hint = "; with a column target instead of label it learns to write the label" if pairs else ""
            raise ValueError(f"transformers has no {self.config.model_type} model for {what}{hint}")
        return cls

    def _weight_files(self) -> list[Path]:
        return sorted(self.directory.glob("*.safetensors"))


def _transformers() -> Any:
    try:
        import transformers
    except ImportError:
        raise ValueError("a Hugging Face model needs transformers: pip install 'semfocus[hf]'") from None
    transformers.logging.set_verbosity_error()
    transformers.utils.logging.disable_progress_bar()
    return transformers


def _config_file(path: Path) -> Path:
    if not path.exists():
        raise ValueError(
            f"there is no model at {path}: give a directory with a config.json, a config file (.json), or a Python file; "
            "nothing is downloaded"
        )
    file = path / "config.json" if path.is_dir() else path
    if not file.is_file():
        raise ValueError(f"{path} has no config.json: save a model or its config there (save_pretrained)")
    return file


def _config(transformers: Any, file: Path) -> Any:
    try:
        values = json.loads(file.read_text(encoding="utf-8"))
        model_type = values.pop("model_type")
    except (ValueError, KeyError, AttributeError):
        raise ValueError(f"{file} is no Hugging Face config: a JSON object with a model_type") from None
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    if model_type not in known:
        raise ValueError(
            f"{file}: transformers {transformers.__version__} knows no model_type {model_type!r}"
        )
    try:
        return known[model_type].from_dict(values)
    except Exception as error:
        raise ValueError(f"{file}: {error}") from None


def writes_targets(path: Path) -> bool:
    """Whether this is a model that reads one text and writes another."""
    return _is_encoder_decoder(_config(_transformers(), _config_file(path)))


def _is_encoder_decoder(config: Any) -> bool:
    return bool(getattr(config, "is_encoder_decoder", False))


def _complete(config: Any, tokenizer: Any) -> None:
    """The ids that end a sequence and begin what is written, where the config leaves them open."""
    eos = getattr(config, "eos_token_id", None)
    if eos is None and tokenizer is not None:
        eos = tokenizer.eos_token_id
    if eos is None:
        eos = max({config.vocab_size - 1, config.vocab_size - 2} - {config.pad_token_id})
    config.eos_token_id = eos[0] if isinstance(eos, list) else eos
    if getattr(config, "decoder_start_token_id", None) is None:
        config.decoder_start_token_id = config.pad_token_id


def _positions(config: Any) -> int | None:
    """The longest sequence; some models number positions from one after their padding token's id on."""
    known = (getattr(config, name, None) for name in _POSITIONS)
    longest = next((value for value in known if isinstance(value, int)), None)
    if longest is not None and config.model_type in _AFTER_PADDING:
        longest -= (config.pad_token_id or 0) + 1
    return longest


def _window(config: Any) -> int | None:
    """The keys that a query sees at the most, if no layer sees all."""
    window = getattr(config, "sliding_window", None)
    if not isinstance(window, int) or getattr(config, "use_sliding_window", True) is False:
        return None
    layers = getattr(config, "layer_types", None) or ["sliding_attention"]
    return window if all(each == "sliding_attention" for each in layers) else None


def _tokenizer_files(path: Path) -> list[Path]:
    return [path / name for name in _TOKENIZER_FILES if path.is_dir() and (path / name).is_file()]


def _tokenizer(transformers: Any, path: Path) -> Any:
    if not _tokenizer_files(path):
        return None
    try:
        return transformers.AutoTokenizer.from_pretrained(path, local_files_only=True)
    except Exception as error:
        first = str(error).strip().splitlines()[0]
        raise ValueError(f"the tokenizer in {path} cannot be read: {first}") from None


def _digest(values: dict[str, Any], files: list[Path]) -> str:
    digest = hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode())
    for file in files:
        digest.update(os.fsencode(file.name))
        with open(file, "rb") as opened:
            digest.update(hashlib.file_digest(opened, "sha256").digest())
    return digest.hexdigest()
