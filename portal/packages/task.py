"""What a package asks of its model: the fields of the task, and the checks that they pass before anything is read."""

import unicodedata
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypedDict

from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from portal.capacity.models import LanguageModel
from portal.departments.refusals import Refusal
from portal.packages import wording
from portal.packages.manifest.openai_rows import messages_of
from portal.packages.models import Kind, Package
from portal.packages.prompts import messages
from portal.packages.task_schema import schema_of
from portal.packages.template import Template, UnableToReadTemplate, nearest, parse, unknown_columns
from scheduler.tokenizers import ChatMessage

MOST_LABELS = 50
LONGEST_LABEL = 200
LONGEST_ECHO = 80
"""Characters of a name that no column has that are said again."""
NOT_IN_A_LABEL = {"Cc", "Zl", "Zp"}
"""Categories of characters that break a line or control a terminal; joined emoji and wide spaces are fine."""


NOTHING = Template(("",), ())
OWN_ID_COLUMN = "custom_id"
"""Names the rows of a manifest that brings its own messages, unless another column is chosen."""


class TaskFields(TypedDict, total=False):
    """The fields that :func:`portal.packages.services.save_task` takes; what is absent keeps its value.

    ``json_schema`` may be a JSON text or the parsed object; ``labels`` any iterable of text.
    """

    name: str
    kind: str
    model: LanguageModel | None
    id_column: str
    system_template: str
    user_template: str
    labels: Iterable[str]
    json_schema: str | dict[str, Any] | None
    max_output_tokens: int
    temperature: float
    run_repeats_once: bool


class UnableToSaveTask(Refusal):
    """The task cannot be run as written. ``problems`` has one refusal per field at fault; the first speaks."""

    code = "invalid_task"

    def __init__(self, problems: list[Refusal]) -> None:
        first = problems[0]
        errors = [{"code": p.code, "message": str(p.message), "param": p.field, **p.details} for p in problems]
        super().__init__(first.message, code=first.code, field=first.field, errors=errors)
        self.problems = problems


@dataclass(frozen=True)
class Task:
    """A task as written by a person, cleaned; ``problems`` is empty when it can be run."""

    name: str
    kind: str
    model: LanguageModel | None
    id_column: str
    system_template: str
    user_template: str
    labels: list[str]
    json_schema: dict[str, Any] | None
    max_output_tokens: int
    temperature: float
    run_repeats_once: bool
    system: Template = NOTHING
    user: Template = NOTHING
    brings_messages: bool = False
    """Each row of the manifest is a chat of its own: there is no prompt to put it into."""
    problems: tuple[Refusal, ...] = ()

    @property
    def runs_repeats_once(self) -> bool:
        """Whether rows that ask the same get one answer: not where each answer is drawn anew."""
        return self.run_repeats_once and self.temperature == 0

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns that the prompt needs, each once."""
        return tuple(dict.fromkeys(self.system.columns + self.user.columns))

    def chat(self, values: Mapping[str, str]) -> list[ChatMessage]:
        """What the model is asked for a row in which nothing is blank."""
        return messages_of(values) if self.brings_messages else messages(self.system, self.user, values)

    def first_blank(self, values: Mapping[str, str]) -> str | None:
        """The first column that the prompt needs and that has no visible text in ``values``."""
        if self.brings_messages:
            return None if values.get("prompt", "").strip() else "prompt"
        return self.system.first_blank(values) or self.user.first_blank(values)


def task_of(package: Package, fields: TaskFields | None = None) -> Task:
    """The task of ``package`` with ``fields`` in place of its own. Never raises for content: see ``problems``."""
    given = fields or {}
    problems: list[Refusal] = []

    def tried(check: Callable[[], Any], otherwise: Any) -> Any:
        try:
            return check()
        except Refusal as refusal:
            problems.append(refusal)
            return otherwise

    def value(name: str) -> Any:
        return given.get(name, getattr(package, name))

    columns = package.reading.get("columns", [])
    brings_messages = (package.corrects or package).reading.get("format") == "openai"
    kind = tried(lambda: _kind(value("kind")), Kind.TAGGING)
    model = tried(lambda: _model(value("model")), value("model"))
    if brings_messages:
        tried(lambda: _refuse_prompts(given), None)
    system_text, user_text = (
        "" if brings_messages else str(value(name) or "") for name in ("system_template", "user_template")
    )
    own_id = OWN_ID_COLUMN if brings_messages else ""
    return Task(
        name=tried(lambda: _name(value("name")), package.name),
        kind=kind,
        model=model,
        id_column=tried(lambda: _id_column(value("id_column") or own_id, columns), ""),
        system_template=system_text,
        user_template=user_text,
        system=tried(lambda: _template(system_text, columns, "system_template"), NOTHING),
        user=NOTHING if brings_messages else tried(lambda: _user_template(user_text, columns, system_text), NOTHING),
        labels=tried(lambda: _labels(value("labels") or (), kind), []),
        json_schema=tried(lambda: schema_of(value("json_schema"), kind), None),
        max_output_tokens=tried(lambda: _max_output(value("max_output_tokens"), model), 1),
        temperature=tried(lambda: _temperature(value("temperature")), 0.0),
        run_repeats_once=bool(value("run_repeats_once")),
        brings_messages=brings_messages,
        problems=tuple(problems),
    )


def _refuse_prompts(given: TaskFields) -> None:
    for name in ("system_template", "user_template"):
        if str(given.get(name) or "").strip():
            raise Refusal(
                _("Each row of this file brings its own messages. Leave the prompt empty."),
                code="brings_messages",
                field=name,
            )


def _kind(kind: str) -> str:
    if kind not in Kind.values:
        raise Refusal(_("Choose what is asked of the model."), code="unknown_kind", field="kind")
    return str(kind)


def _name(name: str) -> str:
    cleaned = _writable(" ".join(str(name).split()), "name")
    if not 0 < len(cleaned) <= 200:
        raise Refusal(_("Give the package a name of up to 200 characters."), code="invalid_name", field="name")
    return cleaned


def _model(model: LanguageModel | None) -> LanguageModel:
    if model is None:
        raise Refusal(_("Choose a model."), code="no_model", field="model")
    if not model.is_enabled:
        raise Refusal(
            _("“%(model)s” is not offered any more. Choose another model.") % {"model": model.title},
            code="model_disabled",
            field="model",
        )
    return model


def _unknown_column(written: str, columns: list[str], field: str) -> Refusal:
    name = written if len(written) <= LONGEST_ECHO else f"{written[:LONGEST_ECHO]}…"
    close = nearest(name, columns)
    if close:
        text = _("The file has no column “%(name)s”. Did you mean “%(close)s”?") % {"name": name, "close": close}
    else:
        known = pgettext("between two quoted names", "”, “").join(columns[:8])
        text = _("The file has no column “%(name)s”. Its columns are “%(known)s”.") % {"name": name, "known": known}
    return Refusal(text, code="unknown_column", field=field, column=name, nearest=close)


def _id_column(name: str, columns: list[str]) -> str:
    if name and name not in columns:
        raise _unknown_column(name, columns, "id_column")
    return name


def _template(text: str, columns: list[str], field: str) -> Template:
    try:
        template = parse(_writable(text, field))
    except UnableToReadTemplate as error:
        said = {
            "unclosed_field": _("Line %(line)s: “{{” has no “}}” on the same line. Write {{column}}."),
            "empty_field": _("Line %(line)s: “{{}}” names no column. Write {{column}}."),
        }[error.code]
        raise Refusal(said % {"line": error.line}, code=error.code, field=field, line=error.line) from error
    for name in unknown_columns(template, columns):
        raise _unknown_column(name, columns, field)
    return template


def _user_template(text: str, columns: list[str], system_text: str) -> Template:
    if not text.strip():
        raise Refusal(_("Write the prompt that each row is put into."), code="empty_prompt", field="user_template")
    template = _template(text, columns, "user_template")
    if not template.columns and "{{" not in system_text:
        raise Refusal(
            _("The prompt uses no column, so every row would ask the same. Add at least one {{column}}."),
            code="no_column_used",
            field="user_template",
        )
    return template


def _labels(labels: Iterable[str], kind: str) -> list[str]:
    if kind != Kind.TAGGING:
        return []  # left over from another kind: if kept, they would constrain its answers
    cleaned = [_writable(str(label).strip(), "labels") for label in labels]
    if len(cleaned) < 2 or len(cleaned) > MOST_LABELS:
        raise Refusal(
            _("Give between 2 and %(most)s labels, one per line.") % {"most": MOST_LABELS},
            code="label_count",
            field="labels",
        )
    for label in cleaned:
        _check_label(label, cleaned)
    return cleaned


def _check_label(label: str, labels: list[str]) -> None:
    if not label:
        raise Refusal(_("A label is empty. Remove it or write its text."), code="empty_label", field="labels")
    if len(label) > LONGEST_LABEL or any(unicodedata.category(sign) in NOT_IN_A_LABEL for sign in label):
        raise Refusal(
            _("The label “%(label)s” is longer than %(most)s characters or not on one line. Shorten it.")
            % {"label": label[:40], "most": LONGEST_LABEL},
            code="invalid_label",
            field="labels",
        )
    if labels.count(label) > 1:
        raise Refusal(
            _("The label “%(label)s” is there more than once. Keep one of them.") % {"label": label},
            code="duplicate_label",
            field="labels",
        )


def _writable(text: str, field: str) -> str:
    """``text``, or a refusal if it holds what no file or database takes: half a surrogate pair, or NUL."""
    if "\0" in text or any("\ud800" <= sign <= "\udfff" for sign in text):
        raise Refusal(
            _("This text holds a character that cannot be stored (NUL, or half an emoji). Remove it."),
            code="unstorable_text",
            field=field,
        )
    return text


def _max_output(tokens: Any, model: LanguageModel | None) -> int:
    most = model.max_output_tokens if model else 1_000_000
    if isinstance(tokens, bool) or not isinstance(tokens, int) or not 1 <= tokens <= most:
        raise Refusal(
            _("The longest output must be between 1 and %(most)s tokens with this model.")
            % {"most": wording.count(most)},
            code="output_limit",
            field="max_output_tokens",
            limit=most,
        )
    return tokens


def _temperature(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 2:
        raise Refusal(_("The temperature must be between 0 and 2."), code="invalid_temperature", field="temperature")
    return float(given)
