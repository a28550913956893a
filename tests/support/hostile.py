"""Texts and names that attack whatever shows, writes or fetches them."""

from typing import Any

from hypothesis import strategies as st

MARKUP = "<img src=x onerror=alert(1)>"
CELL = "=HYPERLINK(1)|<script>\n```\n# heading\n````\n\x1b[1m"
"""Attacks a table program, a Markdown file and a terminal too."""
NAMES = (
    "<script>alert(1)</script>",
    "\"'><img src=x onerror=alert(1)>",
    'org/model" onmouseover="alert(1)',
    "javascript:alert(1)//",
    "&lt;b&gt; &amp;amp; <!-- -->",
    "${x} {{y}} `z` \\",
    "\u202edlrow olleh مرحبا שלום",
    "two\nlines\tand a tab",
    "org/" + "x" * 500,
)
"""Of models."""
NAME = "org/<img src=x onerror=alert(1)>\"'&#x3c;"
"""Of a model that has rewards; see `tests.support.fields.rivals`."""
TEXT = st.text(st.characters(), max_size=20)
"""Lone surrogates, too."""
ANY_JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**400), 10**400) | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=6,
)
"""Whatever a file or a browser may hold."""
