"""The address of a page on the Hub, typed where its id was meant."""

import re

from scoring.errors import KnownError, shown

_PAGE = re.compile(
    r"https?://(?:www\.)?(?:huggingface\.co|hf\.co)/"
    r"(?P<repo>[\w.-]+/[\w.-]+?)"
    r"(?:/(?:tree|blob|resolve|commit)/(?P<revision>[\w.%-]+)(?:/[^?#]*)?)?"
    r"/?(?:[?#].*)?",
    re.ASCII,
)
_ELSEWHERE = ("datasets/", "spaces/", "collections/", "docs/", "papers/", "blog/", "api/")


def without_address(typed: str) -> str:
    """The id of the model whose page was typed; what is no address is given back as it is.

    Raises:
        KnownError: it is the address of something else.

    >>> without_address("https://huggingface.co/org/name/tree/v1"), without_address("org/name")
    ('org/name@v1', 'org/name')
    >>> without_address("https://example.org/model.zip")
    Traceback (most recent call last):
    scoring.errors.KnownError: 'https://example.org/model.zip' is an address...
    """
    if not typed.lower().startswith(("http://", "https://")):
        return typed
    page = _PAGE.fullmatch(typed)
    if page is None or page["repo"].startswith(_ELSEWHERE):
        raise KnownError(
            f"{shown(typed)} is an address, but not that of a model's page on the Hub. Give the "
            "model's id, such as org/name."
        )
    revision = page["revision"]
    return page["repo"] + (f"@{revision.replace('%2F', '/')}" if revision else "")
