"""The transformer of the experiments."""

from semfocus.model.classifier import Classifier
from semfocus.model.config import ModelConfig
from semfocus.model.initialisation import parameter_group
from semfocus.model.language_model import LanguageModel

__all__ = ["Classifier", "LanguageModel", "ModelConfig", "parameter_group"]
