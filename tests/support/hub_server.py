"""A small real HTTP server that answers as the Hugging Face Hub does, for its client to ask."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Literal
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from huggingface_hub import close_session, constants

from scoring.hub import access
from scoring.hub.access import Hub
from tests.conftest import PATIENCE
from tests.support.hub_worker import hub_of_worker
from tests.support.local_server import LocalServer

PART_BYTES = 100_000


@dataclass(frozen=True, slots=True)
class Repo:
    """One repository.

    refusal: the status and error code that requests are answered with.
    refused: the kind of request ("tree", "revision", "resolve", "preupload", "commit"); all kinds
        where it is empty.
    part_seconds: between two parts of a file, of `PART_BYTES` each.
    stalls_at: bytes of a file after which nothing more comes.
    info: more of what the Hub says of it, such as "safetensors".
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    refusal: tuple[int, str] | None = None
    refused: str = ""
    part_seconds: float = 0.0
    stalls_at: int | None = None
    info: Mapping[str, object] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        content = [f"{name} {_oid(body)}" for name, body in sorted(self.files.items())]
        return hashlib.sha1("\n".join(content).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, and the Authorization header that came with it."""

    method: str
    path: str
    authorization: str | None


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody with a token. orgs: organisation -> their role in it."""

    name: str
    orgs: Mapping[str, str] = field(default_factory=dict)

    @property
    def spaces(self) -> set[str]:
        return {self.name, *(org for org, role in self.orgs.items() if role in ("admin", "write"))}


@dataclass(frozen=True, slots=True)
class Commit:
    """What was sent to a repository, and by whom."""

    repo: str
    account: str
    message: str
    files: Mapping[str, bytes]
    is_pull_request: bool


class HubServer(LocalServer):
    """Serves repositories, keyed "datasets/org/name" or "models/org/name", while it is entered.

    accounts: by their tokens; only they may send commits, to others' repositories pull requests.
    commits: those that were taken.
    """

    def __init__(
        self, repos: Mapping[str, Repo], accounts: Mapping[str, Account] | None = None
    ) -> None:
        self.requests: list[Request] = []
        self.commits: list[Commit] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._serve("GET")

            def do_HEAD(self) -> None:
                self._serve("HEAD")

            def do_POST(self) -> None:
                self._serve("POST")

            def _serve(self, method: Literal["GET", "HEAD", "POST"]) -> None:
                path = unquote(urlsplit(self.path).path)
                hub.requests.append(Request(method, path, self.headers.get("Authorization")))
                status, headers, body = self._answered(method, path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if method != "HEAD":
                    kind = "" if path.startswith("/datasets/") else "models/"
                    key = kind + path.partition("/resolve/")[0].strip("/")
                    self._write(body, repos.get(key))

            def _write(self, body: bytes, repo: Repo | None) -> None:
                parts = repo.part_seconds if repo else 0.0
                size = PART_BYTES if parts else max(1, len(body))
                end = len(body) if repo is None or repo.stalls_at is None else repo.stalls_at
                with suppress(OSError):  # who asked may be gone
                    for start in range(0, min(end, len(body)), size):
                        self.wfile.write(body[start : min(end, start + size)])
                        time.sleep(parts)
                if end < len(body):
                    self.wfile.flush()
                    time.sleep(PATIENCE)

            def _answered(self, method: str, path: str) -> "Answer":
                token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
                account = (accounts or {}).get(token)
                if path == "/api/whoami-v2":
                    return _whoami(account)
                if path == "/api/models":
                    return _search(repos, parse_qs(urlsplit(self.path).query))
                if method != "POST":
                    return _answer(repos, path)
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                create_pr = "create_pr=1" in urlsplit(self.path).query
                key, _, kind = path.removeprefix("/api/").rpartition("/main")[0].rpartition("/")
                refusal = _unwelcome(repos.get(key), kind, account, key, create_pr=create_pr)
                if refusal or account is None:
                    return refusal or _error(401, "")
                if kind == "preupload":
                    return _modes(sent)
                hub.commits.append(_commit(key, account, sent, is_pull_request=create_pr))
                return _taken(hub.url, key, create_pr=create_pr)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: `requests` holds what was asked."""

        super().__init__(Handler)


def use_hub(url: str, cache: Path, patch: pytest.MonkeyPatch) -> None:
    """Have the Hub's client ask the server at `url`, with a token that must not be sent."""
    close_session()
    settings = {
        "ENDPOINT": url,
        "HUGGINGFACE_CO_URL_TEMPLATE": url + "/{repo_id}/resolve/{revision}/{filename}",
        "HF_HUB_CACHE": str(cache),
    }
    for name, value in settings.items():
        patch.setattr(constants, name, value)
    patch.setattr(access, "PROBE_SECONDS", 30.0)  # a machine may be slow, and busy with others
    patch.setattr(constants, "HF_HUB_DISABLE_IMPLICIT_TOKEN", False)
    patch.setattr(Hub, "__reduce__", lambda hub: (hub_of_worker, (settings, vars(hub))))
    patch.setenv("HF_TOKEN", "hf_secret")
    patch.setenv("no_proxy", "127.0.0.1")


@contextmanager
def served_hub(
    repos: Mapping[str, Repo], cache: Path, patch: pytest.MonkeyPatch, token: str | None = None
) -> Iterator[HubServer]:
    """A Hub that the client asks; of all tokens only this one may have been sent to it."""
    with HubServer(repos) as server:
        use_hub(server.url, cache, patch)
        yield server
        assert {request.authorization for request in server.requests} <= {
            None,
            token and f"Bearer {token}",
        }
    close_session()


Answer = tuple[int, dict[str, str], bytes]


def _answer(repos: Mapping[str, Repo], path: str) -> Answer:
    parts = path.strip("/").split("/")
    is_api = parts[0] == "api"
    if is_api:
        parts = parts[1:]
    elif parts[0] != "datasets":
        parts = ["models", *parts]
    repo, rest = repos.get("/".join(parts[:3])), parts[3:]
    if repo is None:
        return _error(404, "RepoNotFound")
    if repo.refusal is not None and (not repo.refused or rest[:1] == [repo.refused]):
        return _error(*repo.refusal)
    if len(rest) > 1 and rest[1] not in ("main", repo.commit):
        return _error(404, "RevisionNotFound")
    if not is_api and rest[:1] == ["resolve"]:
        return _file(repo, "/".join(rest[2:]))
    if is_api and rest[:1] == ["tree"]:
        return _json([{"type": "file", **entry} for entry in _entries(repo)])
    if is_api and (not rest or rest[0] == "revision"):
        siblings = [
            {"rfilename": entry["path"], "blobId": entry["oid"], **entry}
            for entry in _entries(repo)
        ]
        told = {"id": "/".join(parts[1:3]), "sha": repo.commit, "siblings": siblings}
        return _json({**told, **repo.info})
    return _error(404, "EntryNotFound")


def _search(repos: Mapping[str, Repo], asked: Mapping[str, list[str]]) -> Answer:
    """Models whose names hold the words, and whose tag or first kind is the one asked for."""
    (words,), kinds = asked.get("search", [""]), {*asked.get("pipeline_tag", ())}
    kinds |= {*asked.get("filter", ())}
    found = [
        {"id": key.removeprefix("models/"), "private": False, "downloads": 0, **repo.info}
        for key, repo in repos.items()
        if key.startswith("models/") and words in key and repo.info.get("pipeline_tag") in kinds
    ]
    found.sort(key=lambda model: -int(str(model["downloads"])))
    return _json(found[: int(asked.get("limit", ["100"])[0])])


def _whoami(account: Account | None) -> Answer:
    if account is None:
        return 401, {"Content-Type": "application/json"}, b'{"error": "Invalid credentials"}'
    orgs = [{"name": org, "roleInOrg": role} for org, role in account.orgs.items()]
    return _json({"type": "user", "name": account.name, "orgs": orgs})


def _unwelcome(
    repo: Repo | None, kind: str, account: Account | None, key: str, *, create_pr: bool
) -> Answer | None:
    """What refuses a commit, or what comes before it; None where it is welcome."""
    if account is None:
        return _error(401, "")
    if repo is None or kind not in ("preupload", "commit"):
        return _error(404, "RepoNotFound")
    if repo.refusal is not None and repo.refused in ("", kind):
        return _error(*repo.refusal)
    if kind == "commit" and not create_pr and key.split("/")[1] not in account.spaces:
        return _error(403, "")
    return None


def _modes(sent: bytes) -> Answer:
    names = [entry["path"] for entry in json.loads(sent)["files"]]
    kept = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
    return _json({"files": [{"path": name, **kept} for name in names]})


def _commit(key: str, account: Account, sent: bytes, *, is_pull_request: bool) -> Commit:
    said = [json.loads(line) for line in sent.decode().splitlines()]
    message = next(each["value"]["summary"] for each in said if each["key"] == "header")
    files = {
        each["value"]["path"]: base64.b64decode(each["value"]["content"])
        for each in said
        if each["key"] == "file"
    }
    return Commit(key, account.name, message, files, is_pull_request)


def _taken(url: str, key: str, *, create_pr: bool) -> Answer:
    oid = "0" * 40
    said = {"commitUrl": f"{url}/{key}/commit/{oid}", "commitOid": oid, "success": True}
    return _json(said | ({"pullRequestUrl": f"{url}/{key}/discussions/7"} if create_pr else {}))


@lru_cache
def _oid(body: bytes) -> str:
    return hashlib.sha1(body).hexdigest()


def _entries(repo: Repo) -> list[dict[str, object]]:
    return [
        {"path": name, "size": len(body), "oid": _oid(body)}
        for name, body in sorted(repo.files.items())
    ]


def _file(repo: Repo, name: str) -> Answer:
    body = repo.files.get(name)
    if body is None:
        return _error(404, "EntryNotFound")
    return 200, {"ETag": f'"{_oid(body)}"', "X-Repo-Commit": repo.commit}, body


def _json(value: object) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _error(status: int, code: str) -> Answer:
    return status, {"X-Error-Code": code}, b""
