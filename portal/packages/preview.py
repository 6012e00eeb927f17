"""The live preview of a task: what the first rows become, before anything is saved."""

from dataclasses import dataclass, field

from portal.capacity.model_files import UnableToUseModel
from portal.capacity.models import LanguageModel
from portal.departments.models import Department
from portal.departments.refusals import Refusal, UnableToFind
from portal.packages import reasons
from portal.packages.manifest import BadRow, Row, UnableToRead
from portal.packages.models import Package
from portal.packages.prompts import counts_as_its_engine, fixed_messages, tokenizer_of
from portal.packages.reading.screening import Screening
from portal.packages.receiving.first_rows import first_rows
from portal.packages.task import Task, TaskFields, task_of
from scheduler.records import RepeatedRow, SetAsideRow
from scheduler.tokenizers import ChatMessage, Tokenizer

SHOWN = 3
LOOKED_AT = 20


@dataclass(frozen=True)
class RenderedPrompt:
    """One row's prompt. ``tokens`` is ``None`` where they were not counted; ``problem`` a sentence or ``""``."""

    row: int
    messages: list[ChatMessage]
    tokens: int | None
    problem: str = ""
    repeats: int = 0
    """The earlier row that asks the same, if one does."""


@dataclass(frozen=True)
class Looked:
    """What the first rows are like: of ``rows`` that were looked at, how many repeat an earlier one or have a fault."""

    rows: int = 0
    repeats: int = 0
    set_aside: int = 0


@dataclass(frozen=True)
class Preview:
    """The first prompts; ``problems`` lie beside their fields.

    ``fixed_tokens`` are those that every row repeats, ``None`` where nothing can be learned from them.
    """

    prompts: tuple[RenderedPrompt, ...]
    fixed_tokens: int | None
    problems: tuple[Refusal, ...]
    counted_for: str = ""
    """The model whose tokens are counted: another model counts others."""
    looked: Looked = Looked()

    @property
    def is_counted(self) -> bool:
        """Do the prompts say how many tokens they have?"""
        return any(prompt.tokens for prompt in self.prompts)

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
    problems = list(task.problems)
    counted_for = task.model.title if task.model else ""
    if {"system_template", "user_template"} & {problem.field for problem in problems}:
        return Preview((), None, tuple(problems), counted_for)
    rows: list[Row | BadRow] = []
    try:
        rows = first_rows(package, LOOKED_AT)
    except UnableToRead as error:
        problems.append(Refusal(reasons.sentence(error.code, error.details), code=error.code, field="file"))
    tokenizer = _tokenizer(task.model)
    screened = _screened(rows, task, tokenizer)
    prompts = tuple(_rendered(row, task, screened) for row in rows[:SHOWN])
    looked = Looked(len(rows), len(screened.repeats), len(screened.problems))
    return Preview(prompts, _fixed_tokens(task, tokenizer), tuple(problems), counted_for, looked)


def _fixed_tokens(task: Task, tokenizer: Tokenizer | None) -> int | None:
    if tokenizer is None or task.brings_messages or task.model is None or not counts_as_its_engine(task.model):
        return None
    return tokenizer.count_chat(fixed_messages(task.system, task.user))


def _tokenizer(model: LanguageModel | None) -> Tokenizer | None:
    """``None`` where the model's file is not on this machine: a preview without counts is still a preview."""
    if model is None:
        return None
    try:
        return tokenizer_of(model)
    except UnableToUseModel:
        return None


@dataclass
class _Screened:
    """What became of the rows that were looked at, by their numbers."""

    tokens: dict[int, int] = field(default_factory=dict)
    problems: dict[int, str] = field(default_factory=dict)
    repeats: dict[int, int] = field(default_factory=dict)

    def set_aside(self, row: SetAsideRow) -> None:
        self.problems[row.row] = reasons.sentence(row.code, row.detail)

    def repeated(self, row: RepeatedRow) -> None:
        self.repeats[row.row] = row.of


def _screened(rows: list[Row | BadRow], task: Task, tokenizer: Tokenizer | None) -> _Screened:
    """The judgement that the whole manifest will get; without a tokenizer only what can be seen without counting."""
    found = _Screened()
    if task.model is None or tokenizer is None:
        found.problems = {row.number: _seen_in(row, task) for row in rows if _seen_in(row, task)}
        return found
    repeated = found.repeated if task.runs_repeats_once else None
    items = Screening(task, tokenizer, found.set_aside, repeated).items(rows)
    found.tokens = {item.row: item.tokens for item in items}
    return found


def _seen_in(row: Row | BadRow, task: Task) -> str:
    if isinstance(row, BadRow):
        return reasons.sentence(row.code, row.detail)
    blank = task.first_blank(row.values)
    return reasons.sentence("missing_field", {"column": blank}) if blank else ""


def _rendered(row: Row | BadRow, task: Task, screened: _Screened) -> RenderedPrompt:
    problem, repeats = screened.problems.get(row.number, ""), screened.repeats.get(row.number, 0)
    chat = [] if isinstance(row, BadRow) else task.chat(row.values)
    tokens = screened.tokens.get(repeats or row.number)
    return RenderedPrompt(row.number, chat, tokens, problem, repeats)
