"""A tokenizer of a few whole words, with templates of its own."""

from tokenizers import Tokenizer, models, pre_tokenizers, processors
from transformers import PreTrainedTokenizerFast

WORDS = [
    *("<pad>", "<unk>", "<s>", "</s>", "Human", "Assistant", ":", "user", "one", "two", "three"),
    *("System", "assistant", "system", "four"),
]
BOS, EOS = WORDS.index("<s>"), WORDS.index("</s>")
WITH_BOS = (
    "{{ bos_token }}{% for message in messages %}{{ message['role'] }}: "
    "{{ message['content'] }}{{ eos_token }}{% endfor %}"
)


def words_tokenizer(template: str | None, **special: str) -> PreTrainedTokenizerFast:
    """A tokenizer of whole words that adds a BOS of its own to every text, as Llama's does."""
    words = Tokenizer(models.WordLevel({word: n for n, word in enumerate(WORDS)}, "<unk>"))
    words.pre_tokenizer = pre_tokenizers.Whitespace()
    words.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", BOS)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=words, unk_token="<unk>", pad_token="<pad>", **special
    )
    tokenizer.chat_template = template
    return tokenizer
