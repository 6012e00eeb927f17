"""A chat that the model's own template has no form for is told as such, whatever the template raises."""

import pytest
from tokenizers import Tokenizer, models

from scheduler.tokenizers import UnableToRenderChat
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
