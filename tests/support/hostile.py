"""Texts and names that attack whatever shows, writes or fetches them."""

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
