"""Who visits: by their account, by their browser, or nobody in particular."""

import json
import urllib.request
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import gradio as gr
import pytest

from explorer.core.address_view import Regions, Sent, View, build_view
from explorer.core.settings import Settings
from explorer.page import identified as page_identified
from explorer.runs.visitors import EVERYBODY, Visitor, owner_of
from explorer.tabs.score.signin_view import build_signin, visitor_of
from tests.conftest import PATIENCE
from tests.support.posting import Visitor as Stranger

LOCAL = Settings(home=Path("unused"))
PUBLIC = Settings(home=Path("unused"), public=True)
ANA = gr.OAuthProfile(
    {"name": "Ana", "preferred_username": "ana", "profile": "https://x/ana", "picture": ""}
)
TOKEN = gr.OAuthToken("hf_ana", "openid profile", 2**40)
REQUEST = gr.Request(session_hash="s1", client={"host": "8.8.8.8"}, headers={})
SECRET = owner_of(None, "kept")
IDENTIFIED: dict[str, tuple[Any, ...]] = {
    "on one's own machine": (LOCAL, None, None, "kept from another day", EVERYBODY, False),
    "a browser by its secret": (PUBLIC, None, None, "kept", SECRET, False),
    "who signed in, with their token": (PUBLIC, ANA, TOKEN, "kept", "user:ana", "hf_ana"),
    "a token without an account": (PUBLIC, None, TOKEN, "kept", SECRET, False),
    "a secret that claims an account": (
        PUBLIC, None, None, "user:ana", owner_of(None, "user:ana"), False,
    ),
    **{f"no secret: {posted!r}"[:40]: (PUBLIC, None, None, posted, EVERYBODY, False)
       for posted in (None, "x" * 1000, "\ud800", {"owner": "user:ana"})},
}  # fmt: skip
"""Settings, account, token and what was posted -> the owner, and the token that is used."""


@pytest.mark.parametrize("name", IDENTIFIED)
def test_who_visits_is_known(name: str) -> None:
    settings, profile, token, posted, owner, used = IDENTIFIED[name]
    who = visitor_of(REQUEST, profile, token, posted, settings=settings)
    assert (who.owner, who.token) == (owner, used)
    assert who.signed_in == (owner == "user:ana") and SECRET.startswith("browser:")
    assert "hf_ana" not in repr(who) and "kept" not in repr(who)


def test_the_button_is_built_only_where_a_space_asks_for_it() -> None:
    pytest.importorskip("authlib", reason="gradio[oauth] is not installed")
    asking = Settings(home=Path("unused"), sign_in="offered")
    for settings, n in ((PUBLIC, 0), (asking, 0), (replace(asking, space="me/space"), 1)):
        with gr.Blocks() as page:
            build_signin(settings)
        assert sum(isinstance(each, gr.LoginButton) for each in page.blocks.values()) == n


def test_no_header_or_cookie_makes_an_account() -> None:
    def regions(query: str, visitor: Visitor, _: Sent) -> tuple[str, Regions]:
        return query, {"owner": lambda: visitor.owner}

    with gr.Blocks() as page:
        identify = partial(page_identified, PUBLIC)
        build_view(View("who", regions), '<div data-tab="who"></div>', identify)
    page.launch(_frontend=False, prevent_thread_lock=True, quiet=True)
    body = {
        "component_id": Stranger(page)._view("who"),
        "fn_name": "render",
        "session_hash": "forged",
        "data": {"secret": "mine", "owner": "user:ana", "profile": {"username": "ana"}},
    }
    headers = {
        "Content-Type": "application/json",
        "Cookie": "session=eyJvYXV0aF9pbmZvIjogeyJ1c2VyaW5mbyI6IHsibmFtZSI6ICJhbmEifX19.x.y",
        "X-Forwarded-User": "ana",
        "Authorization": "Bearer hf_forged",
    }
    address = f"{page.local_url}gradio_api/component_server"
    asked = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        told = json.load(answer)
    page.close()
    assert told["regions"] == {"owner": owner_of(None, "mine")}
