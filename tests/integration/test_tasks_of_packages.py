"""What is asked of the model is checked when it is saved, and shown before that."""

import json
from datetime import timedelta
from typing import Any

import pytest
from pytest_django import DjangoCaptureOnCommitCallbacks

from portal.departments.refusals import UnableToChangeState, UnableToFind
from portal.packages import preview, services, tasks
from portal.packages.models import Package
from portal.packages.task import UnableToSaveTask, task_of
from scheduler.domain.lifecycle import PackageState
from scheduler.tokenizers.words import WordsTokenizer
from tests.manifests import NOW, draft, ingested
from tests.world import World

DATA = "id,text,brand\n1,so good,x\n2,,y\n3,c,z\n4,d,z\n"
SCHEMA = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def refused(world: World, **fields: Any) -> dict[str | None, str]:
    package = draft(world, DATA)
    with pytest.raises(UnableToSaveTask) as error:
        services.save_task(package=package, by=world.alice, now=NOW, **fields)  # type: ignore[misc]
    return {problem.field: problem.code for problem in error.value.problems}


@pytest.mark.parametrize(
    ("fields", "field", "code"),
    [
        ({"user_template": "Judge {{txet}}"}, "user_template", "unknown_column"),
        ({"user_template": "  "}, "user_template", "empty_prompt"),
        ({"user_template": "Judge"}, "user_template", "no_column_used"),
        ({"user_template": "Judge {{text"}, "user_template", "unclosed_field"),
        ({"system_template": "{{}}"}, "system_template", "empty_field"),
        ({"id_column": "ID"}, "id_column", "unknown_column"),
        ({"labels": ["good"]}, "labels", "label_count"),
        ({"labels": [str(n) for n in range(51)]}, "labels", "label_count"),
        ({"labels": ["good", " good "]}, "labels", "duplicate_label"),
        ({"labels": ["good", " "]}, "labels", "empty_label"),
        ({"labels": ["good", "a\nb"]}, "labels", "invalid_label"),
        ({"labels": ["good", "a b c d e f g h i"]}, "labels", "label_too_long"),
        ({"labels": ["good", "half \ud83d"]}, "labels", "unstorable_text"),
        ({"name": "half \ud83d"}, "name", "unstorable_text"),
        ({"user_template": "\ud83d{{text}}"}, "user_template", "unstorable_text"),
        ({"system_template": "a\0b"}, "system_template", "unstorable_text"),
        ({"kind": "extraction", "json_schema": {**SCHEMA, "x": float("inf")}}, "json_schema", "invalid_schema"),
        ({"kind": "extraction", "json_schema": {**SCHEMA, "x": "\ud83d"}}, "json_schema", "invalid_schema"),
        ({"max_output_tokens": 129}, "max_output_tokens", "output_limit"),
        ({"max_output_tokens": 0}, "max_output_tokens", "output_limit"),
        ({"temperature": 2.5}, "temperature", "invalid_temperature"),
        ({"kind": "poetry"}, "kind", "unknown_kind"),
        ({"model": None}, "model", "no_model"),
        ({"name": " "}, "name", "invalid_name"),
        ({"kind": "extraction", "json_schema": None}, "json_schema", "invalid_schema"),
        ({"kind": "extraction", "json_schema": '{"type": '}, "json_schema", "invalid_schema"),
        ({"kind": "extraction", "json_schema": {"type": "objekt"}}, "json_schema", "invalid_schema"),
        ({"kind": "extraction", "json_schema": {"type": "array"}}, "json_schema", "invalid_schema"),
        (
            {"kind": "extraction", "json_schema": {**SCHEMA, "$defs": {"a": {"$ref": "http://example.test/a"}}}},
            "json_schema",
            "invalid_schema",
        ),
        ({"user_template": "word " * 600 + "{{text}}"}, "user_template", "prompt_too_long"),
    ],
)
def test_each_fault_is_told_at_its_field(world: World, fields: dict[str, Any], field: str, code: str) -> None:
    assert refused(world, **fields) == {field: code}


def test_all_faults_are_told_at_once(world: World) -> None:
    assert refused(world, labels=[], user_template="{{x}}", name="") == {
        "labels": "label_count",
        "user_template": "unknown_column",
        "name": "invalid_name",
    }


def test_an_unknown_column_names_the_nearest(world: World) -> None:
    package = draft(world, DATA)
    with pytest.raises(UnableToSaveTask, match="Did you mean “text”"):
        services.save_task(package=package, by=world.alice, now=NOW, user_template="{{Txet}}")


@pytest.mark.parametrize(("field", "value"), [("user_template", "{{%s}}"), ("id_column", "%s")])
def test_a_giant_name_is_not_said_again_in_full(world: World, field: str, value: str) -> None:
    package = draft(world, DATA)
    with pytest.raises(UnableToSaveTask) as refused:
        services.save_task(package=package, by=world.alice, now=NOW, **{field: value % ("x" * 1_000_000)})
    (problem,) = refused.value.problems
    assert problem.code == "unknown_column"
    assert len(str(problem.message)) < 400
    assert len(problem.details["column"]) == 81


def test_a_disabled_model_is_refused(world: World) -> None:
    world.echo.is_enabled = False
    world.echo.save()
    package = Package(name="x", reading={"columns": ["text"]}, user_template="{{text}}", labels=["a", "b"])

    assert [problem.code for problem in task_of(package, {"model": world.echo}).problems] == ["model_disabled"]


def test_a_schema_may_be_text_and_is_kept_as_an_object(world: World) -> None:

    package = draft(world, DATA, kind="extraction", json_schema=json.dumps(SCHEMA))
    package.refresh_from_db()
    assert package.json_schema == SCHEMA


def test_saving_takes_a_quoted_package_back_to_draft(world: World) -> None:
    package = ingested(world, DATA)
    assert package.state == PackageState.QUOTED
    services.save_task(package=package, by=world.alice, now=NOW, labels=["a", "b", "c"])
    assert (package.state, package.rows_total, package.labels) == (PackageState.DRAFT, 0, ["a", "b", "c"])


@pytest.mark.parametrize("state", [PackageState.ADMITTED, PackageState.VALIDATING, PackageState.COMPLETED])
def test_a_promised_package_keeps_its_task(world: World, state: PackageState) -> None:
    package = draft(world, DATA)
    Package.objects.for_department(world.retail).update(state=state)
    with pytest.raises(UnableToChangeState):
        services.save_task(package=package, by=world.alice, now=NOW, labels=["x", "y"])
    with pytest.raises(UnableToChangeState):
        services.start_reading(package=package, by=world.alice, now=NOW)
    package.refresh_from_db()
    assert (package.labels, package.state) == (["good", "bad"], state)


def test_a_preview_shows_the_first_prompts_with_their_tokens(world: World) -> None:
    package = draft(world, DATA)
    seen = services.preview(
        package=package,
        fields={"system_template": "Be brief.", "user_template": "Judge {{text}} of {{brand}}"},
        department=world.retail,
    )
    assert [prompt.row for prompt in seen.prompts] == [1, 2, 3]
    assert seen.prompts[0].messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Judge so good of x"},
    ]
    assert [prompt.tokens for prompt in seen.prompts] == [9, None, 8]  # words, and one for each message; row 2 is blank
    assert seen.prompts[1].problem == "“text” is empty, and the prompt needs it. Fill it in."


@pytest.mark.parametrize(("tokenizer", "fixed", "share"), [("gguf", 6, 12 / 17), ("words", None, None)])
def test_the_fixed_part_is_told_where_tokens_are_those_of_a_model(
    world: World, monkeypatch: pytest.MonkeyPatch, tokenizer: str, fixed: int | None, share: float | None
) -> None:
    """Words between white space say nothing about Chinese."""
    package = draft(world, DATA)
    monkeypatch.setattr(preview, "tokenizer_of", lambda _model: WordsTokenizer())
    world.echo.tokenizer = tokenizer
    seen = services.preview(
        package=package,
        fields={
            "system_template": "Be brief.",
            "user_template": "Judge {{text}} of {{brand}}",
            "model": world.echo,
        },
        department=world.retail,
    )
    assert seen.fixed_tokens == fixed
    assert seen.fixed_share == (share and pytest.approx(share))


def test_a_preview_tells_faults_and_never_raises(world: World) -> None:
    package = draft(world, DATA)
    seen = services.preview(
        package=package,
        fields={"user_template": "{{nothing}}", "model": None, "labels": [], "max_output_tokens": -1},
        department=world.retail,
    )
    assert seen.prompts == ()
    assert {problem.code for problem in seen.problems} == {
        "unknown_column",
        "no_model",
        "label_count",
        "output_limit",
    }


def test_a_preview_is_only_for_the_department_that_owns_the_package(world: World) -> None:
    with pytest.raises(UnableToFind):
        services.preview(package=draft(world, DATA), fields={}, department=world.legal)


def test_reading_is_enqueued_after_the_commit(
    world: World,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(tasks.ingest, "apply_async", lambda args, **_: sent.append(tuple(args)))
    package = draft(world, DATA)
    with django_capture_on_commit_callbacks(execute=True):
        services.start_reading(package=package, by=world.alice, now=NOW)
        assert sent == []
    assert sent == [(str(package.pk), 1)]
    assert package.state == PackageState.VALIDATING


def test_the_sweep_enqueues_stuck_reading_again_and_only_once_a_minute(
    world: World,
    django_capture_on_commit_callbacks: DjangoCaptureOnCommitCallbacks,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    sent: list[tuple[object, ...]] = []
    monkeypatch.setattr(tasks.ingest, "apply_async", lambda args, **_: sent.append(tuple(args)))
    package = draft(world, DATA)
    services.start_reading(package=package, by=world.alice, now=NOW)
    with django_capture_on_commit_callbacks(execute=True):
        services.sweep(now=NOW + timedelta(seconds=59))
    assert sent == []
    for later in (61, 70):
        with django_capture_on_commit_callbacks(execute=True):
            services.sweep(now=NOW + timedelta(seconds=later))
    assert sent == [(str(package.pk), 1)]


def test_reading_can_be_stopped(world: World) -> None:
    package = draft(world, DATA)
    services.start_reading(package=package, by=world.alice, now=NOW)
    services.stop_reading(package=package, by=world.alice, now=NOW)
    assert (package.state, package.ingest_epoch) == (PackageState.DRAFT, 2)


def test_what_another_kind_left_behind_constrains_nothing(world: World) -> None:
    left = {"kind": "generation", "labels": ["x", "y"], "json_schema": {"type": "nonsense"}}
    task = task_of(draft(world, DATA), left)  # type: ignore[arg-type]
    assert (task.labels, task.json_schema, task.problems) == ([], None, ())


def test_labels_may_hold_joined_emoji_and_wide_spaces(world: World) -> None:
    task = task_of(draft(world, DATA), {"labels": ["👨\u200d👩\u200d👧", "全\u3000角"]})
    assert task.problems == ()


def test_what_is_typed_last_on_a_page_stays_in_whatever_order_it_arrives(world: World) -> None:
    package = draft(world, DATA)
    for edit in ("a.9", "a.10", "a.8", "b.1", "a.11", "", "a.2"):
        services.keep_typed(package=package, typed={"user_template": edit, "edit": edit})
        package.refresh_from_db()
        kept = {"a.8": "a.10"}.get(edit, edit)  # only what its own page has gone beyond is overtaken
        assert package.typed["user_template"] == kept
