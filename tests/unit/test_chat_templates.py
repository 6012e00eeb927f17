"""A chat that the model's own template has no form for is told as such, whatever the template raises."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jinja2.sandbox import ImmutableSandboxedEnvironment
from tokenizers import Tokenizer, models

from scheduler.tokenizers import ChatMessage, UnableToRenderChat
from scheduler.tokenizers.chat_template import ChatTemplate, puts_texts_in_place
from scheduler.tokenizers.gguf import GgufFacts, GgufTokenizer

REFUSES = "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}x"
FAULTY = "{% if messages[0]['role'] == 'system' %}{{ 1 + messages[0]['content'] }}{% endif %}x"


@pytest.mark.parametrize("template", [REFUSES, FAULTY])
def test_messages_without_a_form_are_refused_and_others_counted(template: str) -> None:
    bare = Tokenizer(models.BPE(vocab={"x": 0}, merges=[])).to_str()
    tokenizer = GgufTokenizer(GgufFacts(bare, template, "", "", adds_bos=False))
    assert tokenizer.count_chat([{"role": "user", "content": "a"}]) == 1
    with pytest.raises(UnableToRenderChat):
        tokenizer.count_chat([{"role": "system", "content": "a"}])
    with pytest.raises(UnableToRenderChat):
        tokenizer.count_chats([[{"role": "user", "content": "a"}], [{"role": "system", "content": "a"}]])


WRITES = (
    "{% for message in messages %}{% if loop.first and messages[0]['role'] != 'system' %}{{ 'S: none' }}{% endif %}"
    "{{'<' + message['role'] + '>' + message['content'] + eos_token}}{% endfor %}{{ messages | length }}"
    "{% if add_generation_prompt %}{{ '<assistant>' }}{% endif %}"
)
LOOKS = {
    "trims": "{% for message in messages %}{{ message['content'] | trim }}{% endfor %}",
    "asks": "{% for m in messages %}{% if 'x' in m.content %}X{% endif %}{{ m.content }}{% endfor %}",
    "calls": "{% for m in messages %}{{ m.content.strip() }}{% endfor %}",
    "keeps": "{% for m in messages %}{% set c = m['content'] %}{{ c | upper }}{% endfor %}",
    "gives away": "{% for m in messages %}{{ m | tojson }}{% endfor %}",
    "all at once": "{{ messages | tojson }}",
    "by another name": "{% set all = messages %}{% for m in all %}{{ m.content[:2] }}{% endfor %}",
    "behind": "{% for m in messages %}{% if loop.previtem %}{{ loop.previtem['content'][:1] }}{% endif %}{% endfor %}",
    "a slice": "{% for m in messages[1:] %}{{ m.content | trim }}{% endfor %}",
    "another key": "{% for m in messages %}{{ m[m['role']] }}{{ m['content'] }}{% endfor %}",
    "twice": "{{ messages[0]['content'] * 2 }}",
}
ROLES = st.sampled_from(["system", "user", "assistant"])
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    [" {{ x }}\n", "{% raw %}", "\ufdd01\ufdd1", "<|im_end|>", ""]
)
CHATS = st.lists(st.fixed_dictionaries({"role": ROLES, "content": TEXTS}), min_size=1, max_size=4)


def plain(source: str, messages: list[ChatMessage]) -> str:
    """What jinja makes of it."""
    environment = ImmutableSandboxedEnvironment(trim_blocks=True, lstrip_blocks=True)
    template = environment.from_string(source)
    return template.render(messages=messages, add_generation_prompt=True, bos_token="", eos_token="</s>")


@given(st.lists(CHATS, min_size=1, max_size=4))
def test_a_template_that_only_puts_texts_in_place_gives_the_same_the_short_way(chats: list[list[ChatMessage]]) -> None:
    assert puts_texts_in_place(WRITES, ImmutableSandboxedEnvironment())
    template = ChatTemplate(WRITES, bos_token="", eos_token="</s>")
    assert [template.render(chat) for chat in chats] == [plain(WRITES, chat) for chat in chats]


@pytest.mark.parametrize("source", LOOKS.values(), ids=LOOKS)
def test_a_template_that_looks_into_texts_is_rendered_for_every_chat(source: str) -> None:
    assert not puts_texts_in_place(source, ImmutableSandboxedEnvironment())
    chat: list[ChatMessage] = [{"role": "user", "content": " ax "}, {"role": "user", "content": "b"}]
    template = ChatTemplate(source, bos_token="", eos_token="")
    assert [template.render(chat), template.render(chat)] == [plain(source, chat)] * 2
