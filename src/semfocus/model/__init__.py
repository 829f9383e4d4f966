"""The transformer of the experiments."""

from semfocus.model.classifier import Classifier
from semfocus.model.config import ModelConfig
from semfocus.model.initialisation import parameter_group

__all__ = ["Classifier", "ModelConfig", "parameter_group"]
