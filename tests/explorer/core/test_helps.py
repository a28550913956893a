"""The help: every key that the script answers to, and none besides."""

import re

from explorer.core.html import KEYS, help_html
from explorer.core.theme import SCRIPTS
from tests.support.html_reading import HtmlReading


def test_every_key_is_explained() -> None:
    seen = HtmlReading(help_html(), {"dialog", "h2", "dl", "dt", "dd", "kbd", "button"})
    assert seen.attributes["dialog", "id"] == ["help"]
    assert seen.attributes["dialog", "open"] == []
    html = help_html()
    assert re.findall(r"<kbd>(.+?)</kbd>", html) == list(KEYS)
    explained = re.findall(r"<dd>(.+?)</dd>", html)
    assert len(set(explained)) == len(KEYS)


def test_the_script_answers_to_every_key() -> None:
    script = SCRIPTS[0].read_text(encoding="utf-8")
    unanswered = [
        key
        for keys in KEYS
        for key in keys.split(", ")
        if not re.search(rf'[{{ ]{re.escape(key)}: "|=== "{re.escape(key)}"', script)
    ]
    assert unanswered == []
