"""A small real HTTP server that answers as the Hugging Face Hub does, for its client to ask."""

import base64
import hashlib
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import pytest
from huggingface_hub import close_session, constants

from scoring.hub import access
from scoring.hub.access import Hub
from tests.support.hub_worker import hub_of_worker
from tests.support.local_server import Handler, LocalServer

PART_BYTES = 100_000
WRITE = ("admin", "write")
"""Roles that may send commits."""


@dataclass(frozen=True, slots=True)
class Repo:
    """One repository.

    refusal: the status and error code that requests are answered with.
    refused: "commit", where nothing else is; everything where it is empty.
    part_seconds: between two parts of a file, of `PART_BYTES` each.
    info: more of what the Hub says of it, such as "safetensors".
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    refusal: tuple[int, str] | None = None
    refused: str = ""
    part_seconds: float = 0.0
    info: Mapping[str, object] = field(default_factory=dict)

    @property
    def commit(self) -> str:
        content = [f"{name} {_oid(body)}" for name, body in sorted(self.files.items())]
        return hashlib.sha1("\n".join(content).encode()).hexdigest()


class Request(NamedTuple):
    """What was asked, and the Authorization header that came with it."""

    method: str
    path: str
    authorization: str | None


class Account(NamedTuple):
    """Somebody with a token. orgs: organisation -> their role in it."""

    name: str
    orgs: Mapping[str, str] = {}


class Commit(NamedTuple):
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

        class Answering(Handler):
            def do_GET(self) -> None:  # noqa: N802 - so http.server calls it
                path = unquote(urlsplit(self.path).path)
                hub.requests.append(Request(self.command, path, self.headers.get("Authorization")))
                status, headers, body = self._answered(path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if self.command == "HEAD":
                    return
                key = path.partition("/resolve/")[0].strip("/")
                repo = repos.get(key) or repos.get(f"models/{key}") or Repo()
                size = PART_BYTES if repo.part_seconds else max(1, len(body))
                with suppress(OSError):  # who asked may be gone
                    for start in range(0, len(body), size):
                        self.wfile.write(body[start : start + size])
                        time.sleep(repo.part_seconds)

            do_HEAD = do_POST = do_GET  # noqa: N815 - their names

            def _answered(self, path: str) -> Answer:
                token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
                account = (accounts or {}).get(token)
                query = parse_qs(urlsplit(self.path).query)
                if path == "/api/whoami-v2":
                    return _whoami(account)
                if path == "/api/models":
                    return _search(repos, query)
                if self.command != "POST":
                    return _answer(repos, path)
                sent = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                key, _, kind = path.removeprefix("/api/").rpartition("/main")[0].rpartition("/")
                return hub._taken(repos.get(key), key, kind, account, sent, "create_pr" in query)

        super().__init__(Answering)

    @property
    def fetched(self) -> set[str]:
        """The names of the files that were asked for, without their folders."""
        paths = (each.path for each in self.requests if "/resolve/" in each.path)
        return {path.rpartition("/")[2] for path in paths}

    def _taken(
        self, repo: Repo | None, key: str, kind: str, by: Account | None, sent: bytes, as_pr: bool
    ) -> "Answer":
        """What comes of a commit, or of what comes before it."""
        if by is None:
            return _error(401, "")
        if repo is None:
            return _error(404, "RepoNotFound")
        if repo.refusal is not None and repo.refused in ("", kind):
            return _error(*repo.refusal)
        if kind == "preupload":
            kept = {"uploadMode": "regular", "shouldIgnore": False, "oid": None}
            files = json.loads(sent)["files"]
            return _json({"files": [{"path": each["path"], **kept} for each in files]})
        if not as_pr and by.orgs.get(owner := key.split("/")[1]) not in WRITE and owner != by.name:
            return _error(403, "")
        said = [json.loads(line) for line in sent.decode().splitlines()]
        [message] = [each["value"]["summary"] for each in said if each["key"] == "header"]
        parts = [each["value"] for each in said if each["key"] == "file"]
        files = {each["path"]: base64.b64decode(each["content"]) for each in parts}
        self.commits.append(Commit(key, by.name, message, files, as_pr))
        url, oid = f"{self.url}/{key}", "0" * 40
        told = {"commitUrl": f"{url}/commit/{oid}", "commitOid": oid, "success": True}
        return _json(told | ({"pullRequestUrl": f"{url}/discussions/7"} if as_pr else {}))


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
        sent = {request.authorization for request in server.requests}
        assert sent <= {None, token and f"Bearer {token}"}
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
    if repo.refusal is not None and not repo.refused:
        return _error(*repo.refusal)
    if len(rest) > 1 and rest[1] not in ("main", repo.commit):
        return _error(404, "RevisionNotFound")
    if not is_api:
        body = repo.files.get("/".join(rest[2:]))
        if body is None:
            return _error(404, "EntryNotFound")
        return 200, {"ETag": f'"{_oid(body)}"', "X-Repo-Commit": repo.commit}, body
    files = [
        {"path": name, "size": len(body), "oid": _oid(body)}
        for name, body in sorted(repo.files.items())
    ]
    if rest[:1] == ["tree"]:
        return _json([{"type": "file", **file} for file in files])
    siblings = [{"rfilename": file["path"], "blobId": file["oid"], **file} for file in files]
    told = {"id": "/".join(parts[1:3]), "sha": repo.commit, "siblings": siblings}
    return _json({**told, **repo.info})


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
    return _json(found[: int(asked["limit"][0])])


def _whoami(account: Account | None) -> Answer:
    if account is None:
        return _error(401, "")
    orgs = [{"name": org, "roleInOrg": role} for org, role in account.orgs.items()]
    return _json({"type": "user", "name": account.name, "orgs": orgs})


@lru_cache
def _oid(body: bytes) -> str:
    return hashlib.sha1(body).hexdigest()


def _json(value: object) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _error(status: int, code: str) -> Answer:
    return status, {"X-Error-Code": code}, b""
