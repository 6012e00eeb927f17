"""What the page of a task shows: the file and how it is read, its columns and first rows, the task, the preview."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from portal.packages import reasons, services
from portal.packages.brought import brings_messages
from portal.packages.forms import TaskForm
from portal.packages.manifest import BadRow, Reading, UnableToRead
from portal.packages.models import Package
from portal.packages.reading.found import set_aside_of
from portal.packages.reading_form import ReadingForm
from portal.packages.reading_words import format_name
from portal.packages.receiving.first_rows import HEAD_ROWS, first_rows
from portal.packages.template import columns_named


@dataclass(frozen=True)
class Column:
    """A column of the file and what it is for: ``prompt``, ``id``, or ``kept`` for the results only."""

    name: str
    is_id: bool
    is_in_prompt: bool


@dataclass(frozen=True)
class FirstRow:
    """One of the first rows: its cells in column order, or ``why`` it would be set aside."""

    number: int
    cells: list[str]
    why: str = ""


def task_page(
    request: HttpRequest, package: Package, form: TaskForm, *, choice: ReadingForm | None = None, status: int = 200
) -> HttpResponse:
    """The whole page; ``choice`` as for :func:`file_context`."""
    was_sent = form.is_bound
    context = {
        "nav": "packages",
        "form": form,
        "preview": preview_of(package, form) if was_sent or is_begun(package) else None,
        "refusal": None if was_sent else reasons.refusal_sentence(package.refusal),
        "set_aside": set_aside_of(package),
        **file_context(package, form, choice),
    }
    return render(request, "packages/task.html", context, status=status)


def file_context(package: Package, form: TaskForm, choice: ReadingForm | None = None) -> dict[str, Any]:
    """What the card with the file shows; ``choice`` is the form that was sent to read it another way, if one was."""
    reading = Reading.from_json(package.reading)
    return {
        "package": package,
        "format_name": format_name(reading),
        "choice": choice or ReadingForm(reading=reading),
        "rows": _rows(package),
        "columns": columns_of(package, form),
        "brings_messages": form.brings_messages,
    }


def columns_of(package: Package, form: TaskForm) -> list[Column]:
    """The file's columns, and what the task as typed takes them for."""
    asked = columns_named(f"{form['system_template'].value()}\n{form['user_template'].value()}")
    if form.brings_messages:
        asked = frozenset({"messages"})
    named = form["id_column"].value()
    return [Column(name, name == named, name in asked) for name in package.reading.get("columns", [])]


def preview_of(package: Package, form: TaskForm) -> services.Preview:
    """What the task in ``form``, or the one that was left, would make of the first rows."""
    if not form.is_bound:
        form = TaskForm.as_left(package)
        form.is_valid()
    return services.preview(package=package, fields=form.task(), department=package.department)


def is_begun(package: Package) -> bool:
    """Is there anything to show of what the first rows become?"""
    return brings_messages(package) or bool(package.typed.get("user_template", package.user_template))


def _rows(package: Package) -> list[FirstRow]:
    """The first rows; none when the file cannot be read any more."""
    columns = package.reading.get("columns", [])
    try:
        rows = first_rows(package, HEAD_ROWS)
    except UnableToRead:
        return []
    return [
        FirstRow(row.number, [], reasons.sentence(row.code, row.detail))
        if isinstance(row, BadRow)
        else FirstRow(row.number, [row.values.get(name, "") for name in columns])
        for row in rows
    ]
