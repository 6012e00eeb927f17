"""From a row to the messages that the model is sent."""

from collections.abc import Mapping, Sequence

from django.utils.translation import gettext as _

from portal.capacity.model_files import UnableToUseModel, usable_tokenizer
from portal.capacity.models import LanguageModel
from portal.packages.template import Template
from scheduler.tokenizers import ChatMessage, Tokenizer


def messages(system: Template, user: Template, values: Mapping[str, str]) -> list[ChatMessage]:
    """The chat for one row: the system message only where there is one."""
    return _chat(system.render(values), user.render(values))


def fixed_messages(system: Template, user: Template) -> list[ChatMessage]:
    """The chat with every column left empty: what all rows share."""
    return _chat(system.fixed(), user.fixed())


def _chat(system: str, user: str) -> list[ChatMessage]:
    asked: ChatMessage = {"role": "user", "content": user}
    return [{"role": "system", "content": system}, asked] if system.strip() else [asked]


def tokenizer_of(model: LanguageModel) -> Tokenizer:
    """The tokenizer of ``model``: counts what its engine will count. Raises ``UnableToUseModel`` about the field."""
    try:
        return usable_tokenizer(model.tokenizer, model.location)
    except UnableToUseModel as refusal:
        told = _("“%(model)s” cannot be used at present. Choose another model, or tell an administrator.")
        raise UnableToUseModel(told % {"model": model.title}, field="model") from refusal


def counts_as_its_engine(model: LanguageModel) -> bool:
    """Are tokens of ``model`` those of a real vocabulary? The echo's are words, of which Chinese has few: no advice."""
    return model.tokenizer != "words"


def longest_label(tokenizer: Tokenizer, labels: Sequence[str]) -> int:
    """Tokens of the longest of ``labels``, its end mark included."""
    return 1 + max(map(tokenizer.count_text, labels))
