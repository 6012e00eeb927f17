"""The live preview of a task: what the first rows become, before anything is saved."""

from dataclasses import dataclass

from portal.capacity.model_files import UnableToUseModel
from portal.capacity.models import LanguageModel
from portal.departments.models import Department
from portal.departments.refusals import Refusal, UnableToFind
from portal.packages import reasons
from portal.packages.manifest import BadRow, Row, UnableToRead
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
class Preview:
    """The first prompts; ``fixed_tokens`` are those that every row repeats; ``problems`` lie beside their fields."""

    prompts: tuple[RenderedPrompt, ...]
    fixed_tokens: int | None
    problems: tuple[Refusal, ...]
    counted_for: str = ""
    """The model whose tokens are counted: another model counts others."""

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
    fixed = tokenizer.count_chat(fixed_messages(task.system, task.user)) if tokenizer else None
    prompts: tuple[RenderedPrompt, ...] = ()
    problems = list(task.problems)
    if not {"system_template", "user_template"} & {problem.field for problem in problems}:
        try:
            rows = first_rows(package, LOOKED_AT)
            prompts = tuple(_rendered(row, task, tokenizer) for row in rows[:SHOWN])
        except UnableToRead as error:
            problems.append(Refusal(reasons.sentence(error.code, error.details), code=error.code, field="file"))
    return Preview(prompts, fixed, tuple(problems), task.model.title if task.model else "")


def _tokenizer(model: LanguageModel | None) -> Tokenizer | None:
    """``None`` where the model's file is not on this machine: a preview without counts is still a preview."""
    if model is None:
        return None
    try:
        return tokenizer_of(model)
    except UnableToUseModel:
        return None


def _rendered(row: Row | BadRow, task: Task, tokenizer: Tokenizer | None) -> RenderedPrompt:
    if isinstance(row, BadRow):
        return RenderedPrompt(row.number, [], None, reasons.sentence(row.code, row.detail))
    chat = messages(task.system, task.user, row.values)
    tokens = tokenizer.count_chat(chat) if tokenizer else None
    return RenderedPrompt(row.number, chat, tokens, _problem(row, task, tokens))


def _problem(row: Row, task: Task, tokens: int | None) -> str:
    blank = task.system.first_blank(row.values) or task.user.first_blank(row.values)
    if blank:
        return reasons.sentence("missing_field", {"column": blank})
    limit = task.model.context_tokens - task.max_output_tokens if task.model else None
    if tokens is not None and limit is not None and tokens > limit:
        return reasons.sentence("too_long", {"tokens": tokens, "limit": limit})
    return ""
