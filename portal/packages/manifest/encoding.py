"""Does text that was read as GB18030 make sense as Chinese? Almost any bytes can be read that way. Pure."""

import re

SAMPLE = 4_000
"""Stretches beyond ASCII that are looked at."""
ENOUGH = 20
"""Chinese characters from which their frequency says something."""

# The most frequent characters of written Chinese, simplified and traditional; about half of any text is made of them.
_FREQUENT = frozenset(
    "的一是不了在人有我他这中大来上个国和也子时道说出而要于就下得可你年生自会那后能对着事其里所去行过家十用发天如然"
    "作方成者多日都三小军二无同么经法当起与好看学进种将还分此心前面又定见只主没公从知使全两间高已问很最她本但"
    "们到为以地为开手想样意点价买东西质量快真非常给太服务品货评论内容编号名称日期类别标题描述客户订单电话地址"
    "這個來國時說會後能對著裡過發樣無經當與學進種將還見沒從兩間問們為開點買東質價"
)
_LEVEL_1 = frozenset(
    bytes((lead, trail)).decode("gb2312")
    for lead in range(0xB0, 0xD8)
    for trail in range(0xA1, 0xFF)
    if (lead, trail) < (0xD7, 0xFA)
)
_STRETCH = re.compile(r"([A-Za-z]?)([^\x00-\x7f]+)([A-Za-z]?)")
_PRIVATE = re.compile(r"[\ue000-\uf8ff]")
"""Characters without a meaning of their own, which GB18030 has for bytes that Chinese text does not use."""
_MOST_PRIVATE = 50
"""One such character among so many may be meant."""
_HAN = re.compile(r"[\u3400-\u9fff]")


class Plausibility:
    """Fed with text as it is decoded, it keeps a sample and judges that."""

    def __init__(self) -> None:
        self._stretches = self._lone = 0
        self._han = self._frequent = self._level_1 = self._private = 0

    def feed(self, text: str) -> None:
        """The next piece of the text."""
        if text.isascii():
            return
        for found in _STRETCH.finditer(text):
            if self._stretches >= SAMPLE:
                return
            self._count(found[1], found[2], found[3])

    def _count(self, before: str, stretch: str, after: str) -> None:
        self._stretches += 1
        self._lone += len(stretch) == 1 and bool(before or after) and not _is_usual(stretch)
        han = _HAN.findall(stretch)
        self._han += len(han)
        self._private += len(_PRIVATE.findall(stretch))
        self._frequent += sum(character in _FREQUENT for character in han)
        self._level_1 += sum(character in _LEVEL_1 for character in han)

    def verdict(self) -> str:
        """``nonsense``, ``doubtful`` or ``likely``.

        Letters with accents become rare characters alone among Latin letters; Cyrillic, Japanese and the like become
        Chinese characters of which hardly any is frequent.
        """
        if self._lone * 2 > self._stretches:
            return "nonsense"
        is_usual = self._frequent * 10 >= self._han
        if self._han >= ENOUGH and not is_usual:
            return "doubtful" if self._level_1 * 2 >= self._han else "nonsense"
        if self._han and not self._frequent and self._level_1 * 4 < self._han * 3:
            return "doubtful"
        if self._private * _MOST_PRIVATE > self._han:
            return "doubtful"
        return "doubtful" if self._lone * 10 > self._stretches or not self._han else "likely"


def _is_usual(character: str) -> bool:
    """Is it one of the characters and signs that are in daily use?"""
    try:
        return bool(character.encode("gb2312"))
    except UnicodeEncodeError:
        return False


_LETTERS = re.compile(r"[^\W\d_]+")
_ACCENTED = re.compile(r"[À-ÖØ-öø-üÿŒœŠšŽž]")


def is_western(text: str) -> bool:
    """Does text that was read as Windows-1252 make sense: accented letters here and there among plain ones?"""
    words = [word for word in _LETTERS.findall(text) if not word.isascii()]
    accents = sum(len(_ACCENTED.findall(word)) for word in words)
    letters = sum(map(len, words))
    odd = sum(not character.isascii() and not character.isalpha() for character in text)
    return bool(words) and accents * 5 <= letters * 2 and odd <= accents + len(words) and "\ufffd" not in text
