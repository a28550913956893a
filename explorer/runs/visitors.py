"""Who asks: what their runs belong to, and with what right models are fetched for them."""

import hashlib
from dataclasses import dataclass, field
from typing import Literal, TypeGuard

from scoring.errors import KnownError

LONGEST_SECRET = 200
_USER = "user:"

EVERYBODY = ""
"""The owner of what is done where nobody is told apart, as on one's own machine."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """One person at one open page, as the server knows them; never what a browser claims.

    owner: "user:NAME" of who signed in, else "browser:DIGEST" of the secret that their browser
        keeps, else `EVERYBODY`.
    session: of the open page.
    token: the visitor's own token for the Hub; False where there is none. Never the server's.
    address: where they are, as far as that tells people apart; "" where it does not.
    """

    owner: str = EVERYBODY
    session: str = ""
    token: str | Literal[False] = field(default=False, repr=False)
    address: str = ""

    @property
    def signed_in(self) -> bool:
        """Whether the owner is an account of the Hub."""
        return self.owner.startswith(_USER)


def owner_of(user: str | None, secret: object) -> str:
    """What the runs of a person belong to: their account, else the secret in their browser.

    >>> owner_of("ana", "s"), owner_of(None, "s"), owner_of(None, None)
    ('user:ana', 'browser:043a718774c572bd8a25adbeb1bfcd5c', '')
    """
    if user:
        return f"{_USER}{user}"
    if not is_secret(secret):
        return EVERYBODY
    return f"browser:{hashlib.sha256(secret.encode()).hexdigest()[:32]}"


def is_secret(secret: object) -> TypeGuard[str]:
    """Whether a browser may keep it: short plain text, as the server makes it."""
    return isinstance(secret, str) and 0 < len(secret) <= LONGEST_SECRET and secret.isascii()


def check_known(visitor: Visitor, *, is_public: bool) -> None:
    """Whether something may be remembered of a visitor: on a public server not of who is nobody in
    particular, as anybody else could see it.

    Raises:
        KnownError: it may not.
    """
    if is_public and visitor.owner == EVERYBODY:
        raise KnownError("This page does not know yet whose it is. Reload it, and try again.")
