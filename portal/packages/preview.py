"""The live preview of a task: what the first rows become, before anything is saved."""

from dataclasses import dataclass

from portal.capacity.model_files import UnableToUseModel
from portal.capacity.models import LanguageModel
from portal.departments.models import Department
from portal.departments.refusals import Refusal, UnableToFind
from portal.packages import reasons
from portal.packages.brought import brings_messages
from portal.packages.manifest import BadRow, Row, UnableToRead
from portal.packages.manifest.openai_rows import messages_of
from portal.packages.models import Package
from portal.packages.prompts import fixed_messages, messages, tokenizer_of
from portal.packages.task import Task, TaskFields, task_of
from portal.packages.uploads import first_rows
from scheduler.tokenizers import ChatMessage, Tokenizer

SHOWN = 3
LOOKED_AT = 20


@dataclass(frozen=True)
class RenderedPrompt:
    """One row's prompt. ``tokens`` is ``None`` where they could not be counted; ``problem`` a sentence or ``""``."""

    row: int
    messages: list[ChatMessage]
    tokens: int | None
    problem: str = ""


@dataclass(frozen=True)
class Looked:
    """What the first rows are like: of ``rows`` that were looked at, how many repeat an earlier one or have a fault."""

    rows: int = 0
    repeats: int = 0
    set_aside: int = 0


@dataclass(frozen=True)
class Preview:
    """The first prompts; ``fixed_tokens`` are those that every row repeats; ``problems`` lie beside their fields."""

    prompts: tuple[RenderedPrompt, ...]
    fixed_tokens: int | None
    problems: tuple[Refusal, ...]
    counted_for: str = ""
    """The model whose tokens are counted: another model counts others."""
    looked: Looked = Looked()

    @property
    def fixed_share(self) -> float | None:
        """The part of the shown prompts' tokens that is the same for every row, 0 to 1."""
        counted = [prompt.tokens for prompt in self.prompts if prompt.tokens]
        if self.fixed_tokens is None or not counted:
            return None
        return min(1.0, self.fixed_tokens * len(counted) / sum(counted))


def preview(*, package: Package, fields: TaskFields, department: Department) -> Preview:
    """What ``fields`` would make of the first rows of ``package``. Content at fault is told, never raised."""
    if package.department_id != department.pk:
        raise UnableToFind(reasons.sentence("file_lost"))
    task = task_of(package, fields)
    tokenizer = _tokenizer(task.model)
    problems = list(task.problems)
    counted_for = task.model.title if task.model else ""
    if {"system_template", "user_template"} & {problem.field for problem in problems}:
        return Preview((), None, tuple(problems), counted_for)
    ask = _asking(package, task)
    rows: list[Row | BadRow] = []
    try:
        rows = first_rows(package, LOOKED_AT)
    except UnableToRead as error:
        problems.append(Refusal(reasons.sentence(error.code, error.details), code=error.code, field="file"))
    prompts = tuple(_rendered(row, task, tokenizer, ask) for row in rows[:SHOWN])
    fixed = tokenizer.count_chat(fixed_messages(task.system, task.user)) if tokenizer and not ask.is_brought else None
    return Preview(prompts, fixed, tuple(problems), counted_for, _looked_at(rows, task, ask))


@dataclass(frozen=True)
class _Asking:
    """How a row becomes what the model reads: put into the task's templates, or brought by the row itself."""

    task: Task
    is_brought: bool

    def chat(self, row: Row) -> list[ChatMessage]:
        return messages_of(row.values) if self.is_brought else messages(self.task.system, self.task.user, row.values)

    def blank(self, row: Row) -> str | None:
        """A column that the prompt needs and the row leaves empty."""
        if self.is_brought:
            return None
        return self.task.system.first_blank(row.values) or self.task.user.first_blank(row.values)


def _asking(package: Package, task: Task) -> _Asking:
    return _Asking(task, brings_messages(package))


def _looked_at(rows: list[Row | BadRow], task: Task, ask: _Asking) -> Looked:
    asked = [_request(ask.chat(row)) for row in rows if isinstance(row, Row) and not ask.blank(row)]
    repeats = len(asked) - len(set(asked)) if task.runs_repeats_once else 0
    return Looked(len(rows), repeats, len(rows) - len(asked))


def _request(chat: list[ChatMessage]) -> tuple[tuple[str, str], ...]:
    return tuple((message["role"], message["content"]) for message in chat)


def _tokenizer(model: LanguageModel | None) -> Tokenizer | None:
    """``None`` where the model's file is not on this machine: a preview without counts is still a preview."""
    if model is None:
        return None
    try:
        return tokenizer_of(model)
    except UnableToUseModel:
        return None


def _rendered(row: Row | BadRow, task: Task, tokenizer: Tokenizer | None, ask: _Asking) -> RenderedPrompt:
    if isinstance(row, BadRow):
        return RenderedPrompt(row.number, [], None, reasons.sentence(row.code, row.detail))
    chat = ask.chat(row)
    tokens = tokenizer.count_chat(chat) if tokenizer else None
    return RenderedPrompt(row.number, chat, tokens, _problem(row, task, tokens, ask))


def _problem(row: Row, task: Task, tokens: int | None, ask: _Asking) -> str:
    if blank := ask.blank(row):
        return reasons.sentence("missing_field", {"column": blank})
    limit = task.model.context_tokens - task.max_output_tokens if task.model else None
    if tokens is not None and limit is not None and tokens > limit:
        return reasons.sentence("too_long", {"tokens": tokens, "limit": limit})
    return ""
