"""Who visits: by their account, by their browser, or nobody in particular."""

import json
import os
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import gradio as gr
import pytest

from explorer.core.address_view import Regions, Sent, View, build_view
from explorer.core.settings import Settings
from explorer.page import identified as page_identified
from explorer.runs.visitors import EVERYBODY, Visitor, owner_of
from explorer.tabs.score.signin_view import build_signin, visitor_of
from scoring.errors import KnownError
from tests.conftest import PATIENCE, ROOT
from tests.support.posting import Visitor as Stranger

LOCAL = Settings(home=Path("unused"))
PUBLIC = Settings(home=Path("unused"), public=True)
ANA = gr.OAuthProfile(
    {"name": "Ana", "preferred_username": "ana", "profile": "https://x/ana", "picture": ""}
)
TOKEN = gr.OAuthToken("hf_ana", "openid profile", 2**40)


def request(peer: str = "8.8.8.8", forwarded: str = "") -> gr.Request:
    headers = {"x-forwarded-for": forwarded} if forwarded else {}
    return gr.Request(session_hash="s1", client={"host": peer}, headers=headers)


def identified(
    settings: Settings, profile: gr.OAuthProfile | None, token: gr.OAuthToken | None, secret: object
) -> Visitor:
    return visitor_of(request(), profile, token, secret, settings=settings)


def test_on_ones_own_machine_everything_is_everybodys() -> None:
    assert identified(LOCAL, None, None, "") == Visitor(EVERYBODY, "s1", False, "8.8.8.8")
    assert identified(LOCAL, None, None, "kept from another day").owner == EVERYBODY


def test_a_browser_is_known_again_by_its_secret() -> None:
    who = identified(PUBLIC, None, None, "secret")
    assert identified(PUBLIC, None, None, "secret") == who
    assert who.owner == owner_of(None, "secret") and who.owner.startswith("browser:")
    assert "secret" not in repr(who) and who.token is False


@pytest.mark.parametrize("posted", [None, 7, "", "x" * 1000, ["x"], {"owner": "user:ana"}, True])
def test_who_has_no_secret_is_nobody_in_particular(posted: object) -> None:
    assert identified(PUBLIC, None, None, posted).owner == EVERYBODY


@pytest.mark.parametrize("posted", ["user:ana", "ana", "browser:0"])
def test_a_secret_cannot_claim_an_account(posted: str) -> None:
    who = identified(PUBLIC, None, None, posted)
    assert who.owner == owner_of(None, posted) and not who.signed_in


def test_who_signed_in_is_known_by_their_account_and_brings_their_token() -> None:
    who = identified(PUBLIC, ANA, TOKEN, "kept")
    assert (who.owner, who.token) == ("user:ana", "hf_ana")
    assert who.signed_in and "hf_ana" not in repr(who)


def test_a_token_without_an_account_is_not_taken() -> None:
    assert identified(PUBLIC, None, TOKEN, "kept").token is False


def test_the_address_behind_a_proxy_is_the_visitors() -> None:
    asked = request("10.0.0.1", "1.1.1.1, 8.8.8.8")
    proxied = replace(PUBLIC, proxies=1)
    assert visitor_of(asked, None, None, settings=proxied).address == "8.8.8.8"
    nobody = gr.Request(client=None, headers={})
    assert visitor_of(nobody, None, None, settings=proxied) == Visitor()


def test_without_a_proxy_nobody_makes_an_address_up() -> None:
    told = {
        visitor_of(request("10.0.0.7", f"8.8.8.{n}"), None, None, settings=PUBLIC).address
        for n in range(1, 9)
    }
    assert told == {"10.0.0.7"}


def test_the_button_is_built_only_where_a_space_asks_for_it() -> None:
    for settings in (LOCAL, PUBLIC, Settings(home=Path("unused"), sign_in="offered")):
        with gr.Blocks() as page:
            build_signin(settings)
        assert not [each for each in page.blocks.values() if isinstance(each, gr.LoginButton)]


def test_packages_that_are_missing_are_told_in_one_sentence(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "explorer.tabs.score.signin_view._OAUTH_PACKAGES", ("no_package_of_this_name",)
    )
    settings = Settings(home=Path("unused"), public=True, space="a/b", sign_in="required")
    with gr.Blocks(), pytest.raises(KnownError, match=r"pip install 'gradio\[oauth\]'"):
        build_signin(settings)


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


WITHOUT: list[dict[str, str]] = [{}, {"EXPLORER_SIGN_IN": "offered"}, SPACE]
WITH = [{**SPACE, "EXPLORER_SIGN_IN": how} for how in ("offered", "required")]


@pytest.mark.slow
def test_the_whole_page_is_built_without_token_or_network(tmp_path: Path) -> None:
    built = built_in_a_new_process(tmp_path, WITHOUT)
    assert built == ["False False 0", "False False 0", "True False 0"]


def test_where_people_sign_in_the_whole_page_has_a_button(tmp_path: Path) -> None:
    pytest.importorskip("authlib", reason="gradio[oauth] is not installed")
    assert built_in_a_new_process(tmp_path, WITH) == ["True True 1"] * 2


def built_in_a_new_process(tmp_path: Path, environs: list[dict[str, str]]) -> list[str]:
    """Whether it is public, has a way to sign in, and how many buttons, in each environment."""
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
    return done.stdout.splitlines()[-len(environs) :]


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
