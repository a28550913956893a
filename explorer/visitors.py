"""Who asks: what their runs belong to, and with what right models are fetched for them."""

import hashlib
from dataclasses import dataclass, field
from typing import Literal

LONGEST_SECRET = 200
EVERYBODY = ""
"""The owner of what is done where nobody is told apart, as on one's own machine."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """One person at one open page, as the server knows them; never what a browser claims.

    owner: "user:NAME" of who signed in, else "browser:DIGEST" of the secret that their browser
        keeps, else `EVERYBODY`.
    session: of the open page; its run ends when it is closed.
    token: the visitor's own token for the Hub; False where there is none. Never the server's.
    """

    owner: str = EVERYBODY
    session: str = ""
    token: str | Literal[False] = field(default=False, repr=False)


def owner_of(user: str | None, secret: object) -> str:
    """What the runs of a person belong to: their account, else the secret in their browser.

    >>> owner_of("ana", "s"), owner_of(None, "s"), owner_of(None, None)
    ('user:ana', 'browser:043a718774c572bd8a25adbeb1bfcd5c', '')
    """
    if user:
        return f"user:{user}"
    if not isinstance(secret, str) or not 0 < len(secret) <= LONGEST_SECRET:
        return EVERYBODY
    return f"browser:{hashlib.sha256(secret.encode('utf-8', 'replace')).hexdigest()[:32]}"
