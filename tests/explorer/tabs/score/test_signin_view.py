"""Who visits: by their account, by their browser, or nobody in particular."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
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
from tests.conftest import PATIENCE, ROOT
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
       for posted in (None, 7, "", "x" * 1000, "\ud800", {"owner": "user:ana"})},
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
    for settings in (PUBLIC, Settings(home=Path("unused"), sign_in="offered")):
        with gr.Blocks() as page:
            build_signin(settings)
        assert not [each for each in page.blocks.values() if isinstance(each, gr.LoginButton)]


BUILD = """
import json, os, sys
import gradio as gr
from explorer.core.settings import read_settings
from explorer.stores import open_stores
from explorer.page import build_page

kept = dict(os.environ)
for more in json.loads(sys.argv[1]):
    os.environ.clear()
    os.environ.update(kept | more)
    settings = read_settings(os.environ)
    page, _ = build_page(open_stores(settings))
    buttons = [each for each in page.blocks.values() if isinstance(each, gr.LoginButton)]
    print(settings.public, settings.has_sign_in, len(buttons))
"""
SPACE = {
    "SPACE_ID": "me/space",
    "SYSTEM": "spaces",
    "OAUTH_CLIENT_ID": "id",
    "OAUTH_CLIENT_SECRET": "hush",
    "OAUTH_SCOPES": "openid profile",
    "OPENID_PROVIDER_URL": "http://127.0.0.1:9",
}


@pytest.mark.slow
def test_where_people_sign_in_the_whole_page_has_a_button_and_needs_no_network(
    tmp_path: Path,
) -> None:
    pytest.importorskip("authlib", reason="gradio[oauth] is not installed")
    environs = [{**SPACE, "EXPLORER_SIGN_IN": how} for how in ("offered", "required")]
    kept = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    offline = {"EXPLORER_OFFLINE": "1", "EXPLORER_PAIRS": "demo", "EXPLORER_HOME": str(tmp_path)}
    nowhere = {"HF_HOME": str(tmp_path), "HF_ENDPOINT": "http://127.0.0.1:9"}
    done = subprocess.run(
        [sys.executable, "-c", BUILD, json.dumps(environs)],
        cwd=ROOT,
        env={**kept, **offline, **nowhere, **environs[0]},  # gradio reads some when it is imported
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "hush" not in done.stdout + done.stderr
    assert done.stdout.splitlines()[-2:] == ["True True 1"] * 2


@pytest.fixture(scope="module")
def stranger() -> Iterator[Stranger]:
    def regions(query: str, visitor: Visitor, _: Sent) -> tuple[str, Regions]:
        return query, {"owner": lambda: visitor.owner}

    with gr.Blocks() as page:
        identify = partial(page_identified, PUBLIC)
        build_view(View("who", regions), '<div data-tab="who"></div>', identify)
    page.launch(_frontend=False, prevent_thread_lock=True, quiet=True)
    yield Stranger(page)
    page.close()


def test_no_header_or_cookie_makes_an_account(stranger: Stranger) -> None:
    body = {
        "component_id": stranger._view("who"),
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
    address = f"{stranger.page.local_url}gradio_api/component_server"
    asked = urllib.request.Request(address, json.dumps(body).encode(), headers)
    with urllib.request.urlopen(asked, timeout=PATIENCE) as answer:
        assert json.load(answer)["regions"] == {"owner": owner_of(None, "mine")}
