"""Whether an answer is what the package asked for: a label of its set, JSON of its schema, or any text."""

from collections.abc import Callable
from functools import lru_cache, partial
from typing import Any

import msgspec
from jsonschema_rs import ValidationError, Validator

from gpuworker.engines import EngineAnswer, RequestRefused
from scheduler.schemas import UnableToUseSchema, compiled
from scheduler.wire import RequestSettings

LONGEST_MESSAGE = 200
LARGEST_ANSWER = 1024**2
"""Characters of an answer, whatever the engine: one larger than this would weigh on every program behind us."""


class UnableToAccept(ValueError):
    """The answer is not valid; ``why`` is large, cut, label, json or schema, the message says where."""

    def __init__(self, why: str, message: str = "") -> None:
        super().__init__(message)
        self.why = why


@lru_cache(maxsize=16)  # compiling a schema costs more than checking an answer
def checker(settings: RequestSettings) -> Callable[[EngineAnswer], Any]:
    """The function that turns an answer into an output, or raises :class:`UnableToAccept`.

    Raises ``RequestRefused`` when the schema itself is of no use.
    """
    return partial(_bounded, _reader(settings))


def _reader(settings: RequestSettings) -> Callable[[EngineAnswer], Any]:
    if settings.labels:
        return partial(_label, settings.labels)
    if settings.json_schema is not None:
        return partial(_instance, _validator(settings.json_schema))
    return _text


def _bounded(read: Callable[[EngineAnswer], Any], answer: EngineAnswer) -> Any:
    if len(answer.text) > LARGEST_ANSWER:
        raise UnableToAccept("large", f"{len(answer.text)} characters; at most {LARGEST_ANSWER}")
    return read(answer)


def _text(answer: EngineAnswer) -> str:
    return answer.text


def _whole(answer: EngineAnswer) -> str:
    if answer.finish_reason == "length":
        raise UnableToAccept("cut", f"cut after {answer.usage.completion_tokens} tokens")
    return answer.text


def _label(labels: tuple[str, ...], answer: EngineAnswer) -> str:
    text = answer.text.strip()
    if text in labels:  # also when it was cut right behind the label
        return text
    _whole(answer)
    raise UnableToAccept("label")


def _instance(validator: Validator, answer: EngineAnswer) -> Any:
    try:
        # Stricter than json.loads, and what it reads can be written into a part.
        value = msgspec.json.decode(_whole(answer))
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise UnableToAccept("json", str(error)) from error
    try:
        validator.validate(value)
    except ValidationError as error:
        where = "$" + "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in error.instance_path)
        raise UnableToAccept("schema", f"{where}: {error.message}"[:LONGEST_MESSAGE]) from error
    return value


def _validator(json_schema: str) -> Validator:
    try:
        return compiled(msgspec.json.decode(json_schema))
    except (msgspec.MsgspecError, UnableToUseSchema) as error:
        raise RequestRefused("bad_constraint", str(error)[:LONGEST_MESSAGE]) from error
