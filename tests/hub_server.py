"""A small real HTTP server that answers as the Hugging Face Hub does, for its client to ask."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from typing import Literal
from urllib.parse import unquote, urlsplit

from tests.local_server import LocalServer


@dataclass(frozen=True, slots=True)
class Repo:
    """One repository.

    refusal: the status and error code that requests are answered with.
    refused: the kind of request ("tree", "revision", "resolve"); all kinds where it is empty.
    """

    files: Mapping[str, bytes] = field(default_factory=dict)
    refusal: tuple[int, str] | None = None
    refused: str = ""

    @property
    def commit(self) -> str:
        content = b"".join(name.encode() + body for name, body in sorted(self.files.items()))
        return hashlib.sha1(content).hexdigest()


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked, and the Authorization header that came with it."""

    method: str
    path: str
    authorization: str | None


class HubServer(LocalServer):
    """Serves repositories, keyed "datasets/org/name" or "models/org/name", while it is entered."""

    def __init__(self, repos: Mapping[str, Repo]) -> None:
        self.requests: list[Request] = []
        hub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self._serve("GET")

            def do_HEAD(self) -> None:
                self._serve("HEAD")

            def _serve(self, method: Literal["GET", "HEAD"]) -> None:
                path = unquote(urlsplit(self.path).path)
                hub.requests.append(Request(method, path, self.headers.get("Authorization")))
                status, headers, body = _answer(repos, path)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                if method == "GET":
                    self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:
                """Say nothing: `requests` holds what was asked."""

        super().__init__(Handler)


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
        return _json({"id": "/".join(parts[1:3]), "sha": repo.commit, "siblings": siblings})
    return _error(404, "EntryNotFound")


def _entries(repo: Repo) -> list[dict[str, object]]:
    return [
        {"path": name, "size": len(body), "oid": hashlib.sha1(body).hexdigest()}
        for name, body in sorted(repo.files.items())
    ]


def _file(repo: Repo, name: str) -> Answer:
    body = repo.files.get(name)
    if body is None:
        return _error(404, "EntryNotFound")
    etag = f'"{hashlib.sha1(body).hexdigest()}"'
    return 200, {"ETag": etag, "X-Repo-Commit": repo.commit}, body


def _json(value: object) -> Answer:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


def _error(status: int, code: str) -> Answer:
    return status, {"X-Error-Code": code}, b""
