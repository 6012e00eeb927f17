"""Whether a model's file can be used on this machine, told as a sentence instead of a crash."""

from django.utils.translation import gettext as _
from jinja2 import TemplateError

from portal.departments.refusals import Refusal
from scheduler.model_file import UnableToFindModel
from scheduler.tokenizers import Tokenizer, open_tokenizer


class UnableToUseModel(Refusal):
    """The model's file is not on this machine, or its tokens cannot be counted."""

    code = "model_unavailable"
    status = 409


def usable_tokenizer(kind: str, location: str) -> Tokenizer:
    """The tokenizer ``kind`` of the file at ``location``; :class:`UnableToUseModel` says what is wrong with it.

    The first use of a file reads it, which takes seconds; later ones find it in the cache.
    """
    try:
        return open_tokenizer(kind, location)
    except UnableToFindModel as error:
        raise UnableToUseModel(
            _("There is no model file at “%(location)s” on this machine. Give its path, or package:NAME.")
            % {"location": location}
        ) from error
    except (OSError, ValueError, KeyError, TemplateError) as error:
        raise UnableToUseModel(
            _("The file at “%(location)s” cannot be used as a model: %(why)s.") % {"location": location, "why": error}
        ) from error
