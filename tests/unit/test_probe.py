"""What an upload is, is found while it streams past, however it is cut into chunks."""

import bz2
import codecs
import hashlib
import lzma
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from portal.packages.manifest import UnableToRead
from portal.packages.manifest.probe import Probe, Probed
from portal.packages.manifest.reading import Wish


def probed(data: bytes, chunk: int = 3, limit: int = 1 << 20, encoding: str | None = None) -> Probed:
    probe = Probe(limit=limit, wish=Wish(encoding=encoding))
    for start in range(0, len(data), chunk):
        probe.feed(data[start : start + chunk])
    return probe.finish()


def refused(data: bytes, **how: Any) -> UnableToRead:
    with pytest.raises(UnableToRead) as error:
        probed(data, **how)
    return error.value


@pytest.mark.parametrize(
    ("data", "encoding", "certainty"),
    [
        (b"id,text\n1,a\n", "utf-8", "proven"),
        ("编号,内容\n1,潮水\n".encode(), "utf-8", "proven"),
        ("编号,内容\n1,潮水\n".encode("utf-8-sig"), "utf-8-sig", "declared"),
        ("编号,内容\n1,潮水😀\n".encode("gb18030"), "gb18030", "likely"),
        ("联通".encode("gb18030") + b"\n" + "的".encode("gb18030"), "gb18030", "likely"),
    ],
)
@pytest.mark.parametrize("chunk", [1, 2, 3, 1000])
def test_encodings_are_told_apart(data: bytes, encoding: str, certainty: str, chunk: int) -> None:
    found = probed(data, chunk)
    assert (found.encoding, found.certainty) == (encoding, certainty)
    assert (found.size, found.sha256) == (len(data), hashlib.sha256(data).hexdigest())


@given(st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1), st.integers(1, 7))
def test_utf8_is_always_recognised(text: str, chunk: int) -> None:
    data = text.encode()
    if b"\0" in data or data.startswith((codecs.BOM_UTF8, b"%PDF", b"Rar!", b"PAR1", b"PK\x03\x04")):
        return
    assert probed(data, chunk).encoding == "utf-8"


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_a_text_of_which_half_is_broken_names_its_first_bad_line(chunk: int) -> None:
    error = refused(b"id,text\n1,a\n2,\xff\xff\n3,\xff\n", chunk=chunk)
    assert (error.code, error.details) == ("unknown_encoding", {"line": 3})


@pytest.mark.parametrize("chunk", [1, 7, 1000])
def test_a_few_broken_lines_do_not_change_what_the_rest_is(chunk: int) -> None:
    text = "潮水在夜里安静地上涨，清晨又慢慢退去。" * 3
    few = f"内容\n{text}\n".encode() + b"\xd0\xa1\xb6\n" + text.encode()
    assert (probed(few, chunk).encoding, probed(few, chunk).certainty) == ("utf-8", "likely")
    ascii_ = b"id,text\n1,a\n2,\xff\xff\n3,b\n"
    assert (probed(ascii_, chunk).encoding, probed(ascii_, chunk).certainty) == ("utf-8", "doubtful")
    chinese = few.decode("utf-8", "ignore").encode("gb18030") + b"\n\xff\xff\n" + text.encode("gb18030")
    assert (probed(chinese, chunk).encoding, probed(chinese, chunk).certainty) == ("gb18030", "likely")
    assert probed(b"id,text\n1,a\n2,b\0\n3,c\n", chunk).encoding == "utf-8"


def test_many_broken_lines_in_proven_utf8_are_not_taken_for_gb18030() -> None:
    text = "潮水在夜里安静地上涨，清晨又慢慢退去。" * 3
    error = refused(f"内容\n{text}\n".encode() + b"\xd0\xa1\xb6\n" * 5 + text.encode(), chunk=16)
    assert (error.code, error.details) == ("broken_utf8", {"line": 3})


def test_a_character_cut_off_at_the_end_is_a_fault() -> None:
    assert refused("内容\n潮水".encode()[:-1] + b"", chunk=4).code == "broken_utf8"
    assert refused(b"\xef\xbb\xbfid\n\xe6\xbd").code == "broken_utf8"


@pytest.mark.parametrize("text", ["id,text\n1,a\n", "id,内容\n1,潮水\n"])
@pytest.mark.parametrize("chunk", [1, 3, 1000])
def test_utf16_is_read_with_its_mark_and_likely_without(text: str, chunk: int) -> None:
    for mark, order in ((codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be")):
        found = probed(mark + text.encode(order), chunk)
        assert (found.encoding, found.certainty) == ("utf-16", "declared")
        found = probed(text.encode(order), chunk)
        assert (found.encoding, found.certainty) == (order, "likely")


@pytest.mark.parametrize(
    ("text", "encoding", "codec"),
    [
        ("编号,内容\n1,潮水\n", "utf-8", "utf-8"),
        ("編號,內容\n1,潮水\n", "big5", "big5"),
        ("編號,內容\n1,潮水\n", "utf-16-be", "utf-16-be"),
        ("id,text\n1,Straße “x” €\n", "windows-1252", "cp1252"),
        ("编号,内容\n1,潮水\n", "gb18030", "gb18030"),
    ],
)
def test_a_chosen_encoding_is_taken_at_its_word(text: str, encoding: str, codec: str) -> None:
    found = probed(text.encode(codec), encoding=encoding)
    assert (found.encoding, found.certainty) == (encoding, "chosen")


@pytest.mark.parametrize(("encoding", "codec"), [("utf-8", "gb18030"), ("utf-16", "gb18030"), ("big5", "utf-8")])
def test_a_chosen_encoding_that_does_not_fit_is_refused(encoding: str, codec: str) -> None:
    error = refused("编号,内容\n1,这是一条评论，质量很好！\n".encode(codec), encoding=encoding)
    assert (error.code, error.details["encoding"]) == ("wrong_encoding", encoding)
    assert refused(b"a\n1\n", encoding="rot13").code == "unusable_encoding"


def test_the_chinese_of_taiwan_is_guessed_and_called_doubtful() -> None:
    found = probed("編號,內容\n1,這個洗髮水很好用，頭髮很順，我會再買的\n".encode("big5"))
    assert (found.encoding, found.certainty) == ("big5", "doubtful")


def test_chinese_of_taiwan_that_happens_to_have_usual_characters_in_gb18030_is_not_taken_for_it() -> None:
    text = "id,text\n" + "".join(f"{number},送貨太慢了，等了兩個星期才收到。\n" for number in range(40))
    found = probed(text.encode("big5"))
    assert (found.encoding, found.certainty) == ("big5", "doubtful")


@pytest.mark.parametrize(
    ("data", "code"),
    [
        (b"", "empty_file"),
        (b"a\0b", "binary_file"),
        (b"%PDF-1.7 x", "wrong_format"),
        (bz2.compress(b"id,text\n1,a\n"), "wrong_format"),
        (lzma.compress(b"id,text\n1,a\n"), "wrong_format"),
    ],
)
def test_other_files_are_named(data: bytes, code: str) -> None:
    assert refused(data, chunk=64).code == code


@pytest.mark.parametrize("chunk", [1, 7, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
def test_the_bad_line_is_named_whatever_ends_lines(end: bytes, chunk: int) -> None:
    lines = [b"id,text", b"1,a", b"2,\xff\xff", b"3,\xff", b""]
    assert refused(end.join(lines), chunk=chunk).details == {"line": 3}


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("id,text\n1,Быстрая доставка и хорошее качество товара\n" * 3, "cp1251"),
        ("id,text\n1,とても良い商品でした、また買いたいです\n" * 3, "shift-jis"),
    ],
)
def test_another_encoding_is_not_taken_for_chinese(text: str, encoding: str) -> None:
    error = refused(text.encode(encoding), chunk=16)
    assert (error.code, error.details) in [("unknown_encoding", {"line": 2}), ("undecodable", {"line": 2})]


@pytest.mark.parametrize("text", ["Le garçon est déjà là\n2,café crème", "Le garçon mange", "schöne Grüße"])
def test_the_languages_of_western_europe_are_guessed_and_called_doubtful(text: str) -> None:
    found = probed(f"id,text\n1,{text}\n".encode("cp1252"))
    assert (found.encoding, found.certainty) == ("windows-1252", "doubtful")


@pytest.mark.parametrize("text", ["상품이 아주 좋습니다 배송도 빠르고 만족합니다 다시 사고 싶어요"])
def test_what_might_be_chinese_and_hardly_is_counts_as_doubtful(text: str) -> None:
    assert probed(text.encode("euc-kr")).certainty == "doubtful"


@pytest.mark.parametrize(
    "text",
    [
        "id,text\n1,这个shampoo很好用，洗完头发很顺\n2,物流很快，第二天就到了\n",
        "id,text\n1,這個洗髮水很好用，頭髮很順，會再買的\n",
        "编号,内容\n1,OK，好\n",
    ],
)
def test_chinese_is_likely(text: str) -> None:
    assert probed(text.encode("gb18030")).certainty == "likely"


def test_utf8_cut_in_its_last_character_is_not_taken_for_chinese() -> None:
    assert refused("好的".encode()[:-1]).code == "broken_utf8"


def test_the_limit_stops_an_upload_at_once() -> None:
    probe = Probe(limit=5)
    probe.feed(b"12345")
    with pytest.raises(UnableToRead, match="too_large"):
        probe.feed(b"6")
