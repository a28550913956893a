"""Who asks an endpoint, and of which pairs."""

import gradio as gr

from explorer.core.settings import Settings
from explorer.data.library import Library
from explorer.data.table import PairTable
from explorer.runs.visitors import LONGEST_SECRET, Visitor, is_secret
from explorer.tabs.score.signin_view import visitor_of
from scoring.errors import KnownError, shown


def caller(
    request: gr.Request,
    profile: gr.OAuthProfile | None,
    token: gr.OAuthToken | None,
    secret: object,
    settings: Settings,
) -> Visitor:
    """The visitor that a program is: who signed in, or whoever shows the secret of their runs.

    secret: as `/start_run` gave it, or anything that was sent; "" for none.

    Raises:
        KnownError: the secret can be none.
    """
    if secret != "" and not is_secret(secret):
        raise KnownError(
            f"A secret is ASCII text of at most {LONGEST_SECRET} characters, as /start_run gave "
            f"it, not {shown(secret)}."
        )
    return visitor_of(request, profile, token, secret or None, settings=settings)


def requested_table(tables: Library, pairs: object) -> PairTable:
    """The pairs that a program names by their id, whatever it sent; "" for the best there are.

    Raises:
        KnownError: there are none of that id here.
    """
    if not isinstance(pairs, str):
        raise KnownError(f"Pairs are named by the text of their id, not {shown(pairs)}.")
    return tables.here(pairs)
