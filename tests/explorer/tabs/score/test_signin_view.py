"""Who visits: by their account, by their browser, or nobody in particular."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import gradio as gr
import pytest

from explorer.core.settings import Settings
from explorer.reader.session import Session
from explorer.runs.visitors import EVERYBODY, Visitor, owner_of
from explorer.tabs.score.signin_view import build_signin, identify, visitor_of
from scoring.errors import KnownError
from tests.conftest import PATIENCE, ROOT
from tests.explorer.posting import Visitor as Stranger

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
) -> tuple[str, Visitor]:
    session = Session()
    kept = identify(request(), profile, token, secret, session, settings=settings)
    return kept, session.visitor


def test_on_ones_own_machine_everything_is_everybodys() -> None:
    secret, who = identified(LOCAL, None, None, "")
    assert (secret, who) == ("", Visitor(EVERYBODY, "s1", False, "8.8.8.8"))
    assert identified(LOCAL, None, None, "kept from another day")[1].owner == EVERYBODY


def test_a_browser_without_a_secret_is_given_one_that_cannot_be_guessed() -> None:
    secrets = {identified(PUBLIC, None, None, "")[0] for _ in range(50)}
    assert len(secrets) == 50 and all(len(each) >= 32 for each in secrets)


def test_a_browser_is_known_again_by_its_secret() -> None:
    secret, who = identified(PUBLIC, None, None, "")
    again, same = identified(PUBLIC, None, None, secret)
    assert (again, same) == (secret, who)
    assert who.owner == owner_of(None, secret) and who.owner.startswith("browser:")
    assert secret not in repr(who) and who.token is False


@pytest.mark.parametrize("posted", [None, 7, "", "x" * 1000, ["x"], {"owner": "user:ana"}, True])
def test_what_is_no_secret_is_replaced(posted: object) -> None:
    secret, who = identified(PUBLIC, None, None, posted)
    assert len(secret) >= 32 and who.owner == owner_of(None, secret)


@pytest.mark.parametrize("posted", ["user:ana", "ana", "browser:0"])
def test_a_secret_cannot_claim_an_account(posted: str) -> None:
    who = identified(PUBLIC, None, None, posted)[1]
    assert who.owner == owner_of(None, posted) and not who.signed_in


def test_who_signed_in_is_known_by_their_account_and_brings_their_token() -> None:
    secret, who = identified(PUBLIC, ANA, TOKEN, "kept")
    assert (secret, who.owner, who.token) == ("kept", "user:ana", "hf_ana")
    assert who.signed_in and "hf_ana" not in repr(who)


def test_a_token_without_an_account_is_not_taken() -> None:
    assert identified(PUBLIC, None, TOKEN, "kept")[1].token is False


def test_the_address_behind_a_proxy_is_the_visitors() -> None:
    asked = request("10.0.0.1", "1.1.1.1, 8.8.8.8")
    proxied = replace(PUBLIC, proxied=True)
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


def opened(
    request: gr.Request,
    profile: gr.OAuthProfile | None,
    token: gr.OAuthToken | None,
    secret: object,
    session: Session,
) -> str:
    return identify(request, profile, token, secret, session, settings=PUBLIC)


def owner_seen(session: Session) -> str:
    return f"{session.visitor.owner}|{session.visitor.session}"


@pytest.fixture(scope="module")
def stranger() -> Iterator[Stranger]:
    with gr.Blocks() as page:
        session, secret = gr.State(Session()), build_signin(PUBLIC)
        seen, button = gr.Textbox(elem_id="seen"), gr.Button()
        page.load(opened, [secret, session], secret)
        button.click(owner_seen, session, seen)
    page.launch(_frontend=False, prevent_thread_lock=True, quiet=True)
    yield Stranger(page)
    page.close()


def test_the_visitor_stays_on_the_server_whatever_is_posted_in_their_place(
    stranger: Stranger,
) -> None:
    before = stranger.data(owner_seen)[0]
    assert before == "|"
    assert stranger.data(opened, {"BrowserState": "mine"}) == ["mine"]
    claimed = {"owner": "user:ana", "session": "other", "token": "hf_x", "address": ""}
    for posted in (None, claimed, "user:ana"):
        said = stranger.data(owner_seen, {"State": posted})[0]
        assert said == f"{owner_of(None, 'mine')}|{stranger.session}"


def test_no_header_or_cookie_makes_an_account(stranger: Stranger) -> None:
    import urllib.request

    index = next(
        number
        for number, event in stranger.page.fns.items()
        if getattr(event.fn, "__name__", "") == "opened"
    )
    posted = {"data": ["mine", None], "fn_index": index, "session_hash": "forged"}
    body = json.dumps(posted).encode()
    headers = {
        "Content-Type": "application/json",
        "Cookie": "session=eyJvYXV0aF9pbmZvIjogeyJ1c2VyaW5mbyI6IHsibmFtZSI6ICJhbmEifX19.x.y",
        "X-Forwarded-User": "ana",
        "Authorization": "Bearer hf_forged",
    }
    asked = urllib.request.Request(
        f"{stranger.page.local_url}gradio_api/queue/join", data=body, headers=headers
    )
    urllib.request.urlopen(asked, timeout=PATIENCE).close()
    with stranger.open("queue/data?session_hash=forged") as stream:
        for line in stream:
            if b"process_completed" in line:
                break
    another = Stranger(stranger.page, "forged")
    assert another.data(owner_seen)[0] == f"{owner_of(None, 'mine')}|forged"
