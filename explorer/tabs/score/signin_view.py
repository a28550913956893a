"""Who has the page open: the button to sign in, and what the server knows of a visitor."""

from importlib.util import find_spec
from secrets import token_urlsafe

import gradio as gr

from explorer.core.addresses import client_address
from explorer.core.html import note
from explorer.core.settings import Settings
from explorer.core.text import text
from explorer.reader.session import Session
from explorer.runs.visitors import Visitor, is_secret, owner_of
from scoring.errors import KnownError

_STORAGE = "rewardbench-explorer-visitor"
"""Where a browser keeps the secret that its runs belong to."""
SECRET_BYTES = 24
_OAUTH_PACKAGES = ("authlib", "itsdangerous")
"""What `gradio[oauth]` installs."""


def build_signin(settings: Settings) -> gr.BrowserState:
    """Lay out what tells who visits; it must stand outside the tabs, which are filled when opened.

    Gives the secret of this browser; "" until the page was opened.

    Raises:
        KnownError: people are to sign in, and the packages for it are not here.
    """
    if settings.has_sign_in:
        if not all(map(find_spec, _OAUTH_PACKAGES)):
            raise KnownError(
                "EXPLORER_SIGN_IN needs packages that are not here: pip install 'gradio[oauth]'."
            )
        with gr.Row(elem_classes="signin"):
            gr.HTML(note(text(f"signin.{settings.sign_in}")), min_width=280)
            gr.LoginButton(
                text("signin.button"),
                f"{text('signin.leave')} ({{}})",
                size="sm",
                scale=0,
                min_width=230,
                elem_id="signin",
            )
    return gr.BrowserState("", storage_key=_STORAGE, secret=_STORAGE)


def identify(
    request: gr.Request,
    profile: gr.OAuthProfile | None,
    token: gr.OAuthToken | None,
    secret: object,
    session: Session,
    *,
    settings: Settings,
) -> str:
    """The secret that the browser is to keep; the session knows from now on who visits.

    Gradio gives profile and token from the session of who signed in, and None for others,
    whatever was posted.
    """
    kept = secret if is_secret(secret) else ""
    if settings.public:
        kept = kept or token_urlsafe(SECRET_BYTES)
    session.visitor = visitor_of(request, profile, token, kept, settings=settings)
    return kept


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
        client_address(peer, request.headers.get("x-forwarded-for"), proxied=settings.proxied),
    )
