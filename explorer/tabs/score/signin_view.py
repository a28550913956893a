"""Who has the page open: the button to sign in, and what the server knows of a visitor."""

from importlib.util import find_spec

import gradio as gr

from explorer.core.clients import client_address
from explorer.core.html import note
from explorer.core.settings import Settings
from explorer.runs.visitors import Visitor, owner_of
from scoring.errors import KnownError

_STORAGE = "rewardbench-explorer-visitor"
"""Where a browser once kept the secret that its runs belong to, as Gradio keeps it."""
_OAUTH_PACKAGES = ("authlib", "itsdangerous")
"""What `gradio[oauth]` installs."""


def build_signin(settings: Settings) -> gr.BrowserState:
    """Lay out what tells who visits; it must stand outside the tabs, which are filled when opened.

    Gives the secret that a browser once kept, and assets/storage.js keeps now.

    Raises:
        KnownError: people are to sign in, and the packages for it are not here.
    """
    if settings.has_sign_in:
        if not all(map(find_spec, _OAUTH_PACKAGES)):
            raise KnownError(
                "EXPLORER_SIGN_IN needs packages that are not here: pip install 'gradio[oauth]'."
            )
        with gr.Row(elem_classes="signin"):
            words = (
                "Sign in with Hugging Face to score. Reading needs no account."
                if settings.sign_in == "required"
                else "Sign in to keep your runs in every browser, and to score private models you "
                "may read."
            )
            gr.HTML(note(words), min_width=280)
            gr.LoginButton(
                "Sign in with Hugging Face",
                "Sign out ({})",
                size="sm",
                scale=0,
                min_width=230,
                elem_id="signin",
            )
    return gr.BrowserState("", storage_key=_STORAGE, secret=_STORAGE)


def visitor_of(
    request: gr.Request,
    profile: gr.OAuthProfile | None,
    token: gr.OAuthToken | None,
    secret: object = None,
    *,
    settings: Settings,
) -> Visitor:
    """Who sent a request.

    secret: of the browser; None for a program, which has none.
    settings: say whether people are told apart here by more than their page, and by which address.
    """
    user = profile.username if profile is not None else None
    peer = request.client.host if request.client else None
    return Visitor(
        owner_of(user, secret if settings.public else None),
        getattr(request, "session_hash", None) or "",
        token.token if user and token is not None else False,
        client_address(peer, request.headers.get("x-forwarded-for"), proxies=settings.proxies),
    )
