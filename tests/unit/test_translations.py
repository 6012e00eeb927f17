"""The Chinese catalogue is complete, keeps every placeholder, and is written the way Chinese is written."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import polib
import pytest
from django.conf import settings
from django.test import override_settings
from django.utils import timezone, translation
from django.utils.translation import gettext

from portal.capacity.templatetags.capacity_tags import days_of, weekday
from portal.departments.context import zone_label
from portal.departments.models import Department
from portal.packages import wording

FOLDER = Path(settings.LOCALE_PATHS[0]) / "zh_Hans" / "LC_MESSAGES"
PLACEHOLDER = re.compile(r"%\(\w+\)[-+ #0-9.]*[a-z]|%%|<[^>]+>")
HAN = "\u4e00-\u9fff"
HALF_WIDTH = re.compile(f"[{HAN}][,.;:!?()]|[,;:!?()][{HAN}]")
CRAMPED = re.compile(f"[{HAN}](%\\(|[A-Za-z0-9])|([A-Za-z0-9]|%\\(\\w+\\)[sd])[{HAN}]")
JOINED = {"D j M", "D j M, H:i", "Bills of %(name)s", "Offer valid for %(time)s."}
"""Texts in which no space belongs between a value and the words around it: the value ends or begins in Chinese."""


@pytest.fixture(scope="module")
def catalogue() -> polib.POFile:
    return polib.pofile(str(FOLDER / "django.po"))


@pytest.fixture
def in_chinese(catalogue: polib.POFile, tmp_path: Path) -> Iterator[None]:
    """Chinese is active, from the catalogue as it is written now, whatever was compiled before."""
    folder = tmp_path / "zh_Hans" / "LC_MESSAGES"
    folder.mkdir(parents=True)
    catalogue.save_as_mofile(str(folder / "django.mo"))
    with override_settings(LOCALE_PATHS=[tmp_path]), translation.override("zh-hans"):
        yield


def texts(catalogue: polib.POFile) -> Iterator[tuple[str, str]]:
    """Each msgid (the plural one where there are two) with each of its translations."""
    for entry in catalogue:
        if entry.msgid_plural:
            yield from ((entry.msgid_plural, text) for text in entry.msgstr_plural.values())
        else:
            yield entry.msgid, entry.msgstr


def test_every_text_is_translated_and_none_is_doubtful(catalogue: polib.POFile) -> None:
    assert [msgid for msgid, text in texts(catalogue) if not text] == []
    assert [entry.msgid for entry in catalogue.fuzzy_entries()] == []
    assert catalogue.metadata["Plural-Forms"] == "nplurals=1; plural=0;"


def test_every_translation_has_the_placeholders_and_tags_of_its_text(catalogue: polib.POFile) -> None:
    differing = [
        (msgid, text)
        for msgid, text in texts(catalogue)
        if sorted(PLACEHOLDER.findall(msgid)) != sorted(PLACEHOLDER.findall(text))
    ]
    assert differing == []


def test_punctuation_beside_chinese_is_full_width(catalogue: polib.POFile) -> None:
    assert [text for _, text in texts(catalogue) if HALF_WIDTH.search(re.sub("<[^>]+>", "", text))] == []


def test_a_space_stands_between_chinese_and_latin_or_digits(catalogue: polib.POFile) -> None:
    cramped = [
        text for msgid, text in texts(catalogue) if msgid not in JOINED and CRAMPED.search(re.sub("<[^>]+>", "", text))
    ]
    assert cramped == []


@pytest.mark.usefixtures("in_chinese")
def test_texts_come_out_in_chinese() -> None:
    assert gettext("Packages") == "任务包"
    assert translation.ngettext("%(n)d day", "%(n)d days", 3) % {"n": 3} == "3 天"


@pytest.mark.usefixtures("in_chinese")
def test_times_are_told_the_chinese_way() -> None:
    now = datetime(2026, 12, 1, 7, 3, tzinfo=UTC)
    with timezone.override("Asia/Shanghai"):
        assert wording.moment(now + timedelta(days=1)) == "12月2日 周三 15:03"
        assert wording.when(now, now) == "今天 15:03"
        assert wording.day(now) == "12月1日 周二"
    assert wording.span(timedelta(hours=10, minutes=20)) == "10 小时 20 分"
    assert wording.span(timedelta(minutes=48)) == "48 分钟"


@pytest.mark.usefixtures("in_chinese")
def test_weekdays_have_their_short_names_and_are_listed_with_the_chinese_comma() -> None:
    window: Any = type("Window", (), {"days": 0b000_0101})
    assert weekday(6) == "周日"
    assert days_of(window) == "周一、周三"


@pytest.mark.usefixtures("in_chinese")
def test_the_zone_of_china_has_its_chinese_name() -> None:
    shanghai = Department(time_zone="Asia/Shanghai")
    assert zone_label(shanghai, datetime(2026, 12, 1, tzinfo=UTC)) == "中国标准时间 (UTC+8)"
    assert zone_label(Department(time_zone="Asia/Singapore"), datetime(2026, 12, 1, tzinfo=UTC)) == "UTC+8"
