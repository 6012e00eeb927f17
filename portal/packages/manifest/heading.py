"""Does a table begin with the names of its columns, or with its first row? Pure."""

import re
from collections.abc import Sequence

_NUMBER = re.compile(r"[+-]?[\d,]*\.?\d+(?:[eE][+-]?\d+)?%?")
_DATE = re.compile(r"\d{1,4}[-/.年]\d{1,2}[-/.月]\d{1,4}日?(?:[ T]\d{1,2}:\d{2}.*)?")
_YEAR = re.compile(r"(?:19|20)\d\d")
_LONG = 60
"""Characters that no name of a column has in earnest."""
_NAMES = """
id no num number name title text content body comment review message question answer prompt label category type class
tag score rating star stars date time created_at updated_at language lang source url user author summary description
subject status key value input output email phone address city country price amount
编号 序号 编码 id号 名称 姓名 标题 文本 内容 正文 评论 评价 消息 问题 答案 回答 提示词 标签 类别 分类 类型 评分 分数
星级 日期 时间 语言 来源 链接 用户 作者 摘要 描述 说明 主题 状态 商品 订单号 电话 地址 城市 价格 金额 备注 原文
編號 名稱 標題 內容 評論 標籤 類別 類型 評分 時間 備註
"""
_USUAL = frozenset(_NAMES.split())
"""Names that columns often have, and values seldom."""


def heading_found(records: Sequence[Sequence[str]]) -> tuple[bool, str]:
    """Whether the first of ``records`` names columns, and how sure that is."""
    if not records or not any(cell.strip() for cell in records[0]):
        return True, "doubtful"
    first = [cell.strip() for cell in records[0]]
    body = [record for record in records[1:] if list(record) != list(records[0]) and len(record) == len(first)]
    columns = [[record[at].strip() for record in body] for at in range(len(first))]
    if any(map(_is_usual, first)):
        return True, "proven"
    if any(_continues(name, column) for name, column in zip(first, columns, strict=True)):
        return False, "likely" if body else "doubtful"
    if any(len(cell) > _LONG for cell in first) and len(first) > 1:
        return False, "doubtful"
    if any(not _kind(name) and _is_of_kind(column) for name, column in zip(first, columns, strict=True)):
        return True, "likely"
    is_met_again = any(name in column for name, column in zip(first, columns, strict=True))
    is_like_names = len(set(first)) == len(first) > 1 and all(first)
    return True, "likely" if is_like_names and not is_met_again else "doubtful"


def _is_usual(cell: str) -> bool:
    name = cell.casefold()
    return name in _USUAL or any(part in _USUAL for part in re.split(r"[\s_\-]+", name) if not part.isdigit())


def _continues(first: str, column: Sequence[str]) -> bool:
    """Is the first cell of a column a value like those below it?"""
    kind = _kind(first)
    if kind and not _YEAR.fullmatch(first):
        return not column or _is_of_kind(column)
    return bool(first) and column.count(first) >= max(2, len(column) // 20)


def _kind(cell: str) -> str:
    """``number`` or ``date``, or nothing."""
    if _NUMBER.fullmatch(cell):
        return "number"
    return "date" if _DATE.fullmatch(cell) else ""


def _is_of_kind(column: Sequence[str]) -> bool:
    """Are most cells that are not empty numbers or dates?"""
    filled = [cell for cell in column if cell]
    return bool(filled) and sum(bool(_kind(cell)) for cell in filled) * 5 >= len(filled) * 4
