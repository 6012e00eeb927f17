"""A model's chat template, and a short way through it for the many chats that differ in their texts only.

Most templates only put each message's text where it belongs. Where the template's own syntax shows that it does no
more (:func:`puts_texts_in_place`), it is rendered once for each sequence of roles, with marks instead of texts; after
that a chat is its texts put between the pieces. Any other template is rendered for every chat.
"""

import re
from collections.abc import Iterator, Sequence

from jinja2 import Environment, TemplateError, nodes
from jinja2.sandbox import ImmutableSandboxedEnvironment

from scheduler.tokenizers.port import ChatMessage

MOST_SHAPES = 1_000
"""Sequences of roles that are remembered."""
_MARK = re.compile("\ufdd0([0-9]+)\ufdd1")
"""Code points that are no characters: no template is written with them, and what stands between them is a number."""

Pieces = tuple[tuple[str, ...], tuple[int, ...]]


class ChatTemplate:
    """Renders chats as llama.cpp's own engine for such templates does."""

    def __init__(self, source: str, *, bos_token: str, eos_token: str) -> None:
        environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
        environment.globals["raise_exception"] = _raise_exception
        self._template = environment.from_string(source)
        self._tokens = {"bos_token": bos_token, "eos_token": eos_token}
        self._shapes: dict[tuple[str, ...], Pieces] | None = {} if puts_texts_in_place(source, environment) else None

    def render(self, messages: Sequence[ChatMessage]) -> str:
        """The text of the whole prompt, ready for the answer. Raises what the template raises."""
        if self._shapes is None:
            return self._whole(messages)
        roles = tuple(message["role"] for message in messages)
        pieces = self._shapes.get(roles) or self._shape(roles)
        return _joined(pieces, messages)

    def _shape(self, roles: tuple[str, ...]) -> Pieces:
        assert self._shapes is not None
        marked: list[ChatMessage] = [
            {"role": role, "content": f"\ufdd0{place}\ufdd1"} for place, role in enumerate(roles)
        ]
        found = _MARK.split(self._whole(marked))
        pieces = tuple(found[::2]), tuple(map(int, found[1::2]))
        if len(self._shapes) < MOST_SHAPES:
            self._shapes[roles] = pieces
        return pieces

    def _whole(self, messages: Sequence[ChatMessage]) -> str:
        return self._template.render(messages=messages, add_generation_prompt=True, **self._tokens)


def _joined(pieces: Pieces, messages: Sequence[ChatMessage]) -> str:
    texts, places = pieces
    joined = [texts[0]]
    for place, text in zip(places, texts[1:], strict=True):
        joined += (messages[place]["content"], text)
    return "".join(joined)


def _raise_exception(message: str) -> None:
    """What chat templates call when they cannot render a conversation."""
    raise TemplateError(message)


# --- what a template does with texts ---------------------------------------------------------------------
def puts_texts_in_place(source: str, environment: Environment) -> bool:
    """Does the template only write each message's ``content`` out as it is, whatever it does with roles?

    Told from its syntax, on the safe side: ``messages`` may be gone through, counted or asked for one by its number;
    of a message only ``role`` and ``content`` may be taken; and ``content`` may only be written, alone or joined to
    other texts.
    """
    tree = environment.parse(source)
    above = {id(child): parent for parent in _all(tree) for child in parent.iter_child_nodes()}
    single = {
        loop.target.name
        for loop in tree.find_all(nodes.For)
        if _is_named(loop.iter, {"messages"}) and isinstance(loop.target, nodes.Name)
    }
    return all(_is_harmless(node, above, single) for node in _all(tree))


def _all(node: nodes.Node) -> Iterator[nodes.Node]:
    yield node
    for child in node.iter_child_nodes():
        yield from _all(child)


def _is_named(node: nodes.Node, names: set[str]) -> bool:
    return isinstance(node, nodes.Name) and node.name in names


def _is_harmless(node: nodes.Node, above: dict[int, nodes.Node], single: set[str]) -> bool:
    parent = above.get(id(node))
    if _is_named(node, {"messages"}):
        return _is_way_to_one(node, parent)
    if _is_named(node, single) or _is_one_by_number(node):
        return _is_target(node, parent) or _is_of_message(parent)
    if _is_named(node, {"loop"}):
        return not (isinstance(parent, nodes.Getattr) and parent.attr in {"previtem", "nextitem", "changed"})
    if _key_of(node) == "content":
        return _is_only_written(node, above)
    return True


def _is_way_to_one(node: nodes.Node, parent: nodes.Node | None) -> bool:
    if isinstance(parent, nodes.For):
        return parent.iter is node
    if isinstance(parent, nodes.Filter):
        return parent.name in {"length", "count"}
    return parent is not None and _is_one_by_number(parent)


def _is_one_by_number(node: nodes.Node) -> bool:
    if not isinstance(node, nodes.Getitem) or not _is_named(node.node, {"messages"}):
        return False
    return isinstance(node.arg, nodes.Const) and isinstance(node.arg.value, int)


def _is_target(node: nodes.Node, parent: nodes.Node | None) -> bool:
    return isinstance(parent, nodes.For) and parent.target is node


def _is_of_message(node: nodes.Node | None) -> bool:
    return node is not None and _key_of(node) in {"role", "content"}


def _key_of(node: nodes.Node) -> object:
    if isinstance(node, nodes.Getattr):
        return node.attr
    if isinstance(node, nodes.Getitem) and isinstance(node.arg, nodes.Const):
        return node.arg.value
    return None


def _is_only_written(node: nodes.Node, above: dict[int, nodes.Node]) -> bool:
    parent = above.get(id(node))
    while isinstance(parent, nodes.Add | nodes.Concat):
        parent = above.get(id(parent))
    return isinstance(parent, nodes.Output)
