"""Hub of Hugging Face on this machine: the protocol that `huggingface_hub` uses for models.

Create a repository and a branch, ask how files are sent (preupload), send large files (LFS),
commit, list files, and download with an ETag, a redirect for large files, and ranges of bytes.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import json
import re
import socket
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlparse

import pytest

LARGE = (".safetensors", ".model", ".png")
"""Endings of files that are sent as LFS objects, as the hub's `.gitattributes` says."""

TOKEN = "hf_test"


def blob_id(content: bytes) -> str:
    """Hash of a file as git computes it."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()


@dataclass
class Repository:
    """Branches with their commits; a commit is a mapping from file names to contents."""

    private: bool = False
    commits: dict[str, dict[str, bytes]] = field(default_factory=dict)
    branches: dict[str, str] = field(default_factory=dict)
    messages: list[str] = field(default_factory=list)

    def commit(self, branch: str, files: dict[str, bytes], message: str = "") -> str:
        content = f"{len(self.commits)} {message} {sorted(files)}"
        commit = hashlib.sha1(content.encode()).hexdigest()
        self.commits[commit] = files
        self.branches[branch] = commit
        self.messages.append(message)
        return commit

    def files(self, branch: str = "main") -> dict[str, bytes]:
        return self.commits[self.branches[branch]]


class Hub:
    """State of the server: repositories, LFS objects, requests, and the faults that a test sets."""

    def __init__(self) -> None:
        self.repositories: dict[str, Repository] = {}
        self.objects: dict[str, bytes] = {}
        self.requests: list[tuple[str, str]] = []
        self.statuses: dict[str, int] = {}
        """status of an answer instead of the right one, by a part of the request's path"""
        self.cut_after: int | None = None
        """bytes of the next large file after which the connection breaks, once"""
        self.ranges: list[str] = []
        """headers `Range` of the downloads"""
        self.gated: set[str] = set()
        self.sent: set[str] = set()
        """names of the files whose content was sent"""
        self.large_names: dict[str, str] = {}
        """name of each LFS object that was asked for"""
        self.connections: list[socket.socket] = []
        hub = self

        class BoundHandler(Handler):
            pass

        BoundHandler.hub = hub
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), BoundHandler)
        self.endpoint = f"http://127.0.0.1:{self.server.server_port}"
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)

    def __enter__(self) -> Hub:
        self.thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def stop(self) -> None:
        self.server.shutdown()
        self.server.server_close()
        for connection in self.connections:
            with contextlib.suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)

    def add(self, name: str, files: dict[str, bytes], *, private: bool = False) -> Repository:
        """A repository with one commit."""
        repository = Repository(private)
        repository.commit("main", files)
        self.repositories[name] = repository
        return repository

    def take_downloads(self) -> set[str]:
        """Names of the files whose content was sent since the last call."""
        names = self.sent
        self.sent = set()
        return names


class Handler(BaseHTTPRequestHandler):
    """One request. Each route is a method; its groups are the arguments."""

    hub: Hub
    protocol_version = "HTTP/1.1"
    routes = (
        ("POST", r"/api/repos/create", "create"),
        ("POST", r"/api/validate-yaml", "validate_card"),
        ("POST", r"/api/models/([^/]+/[^/]+)/branch/(.+)", "create_branch"),
        ("POST", r"/api/models/([^/]+/[^/]+)/preupload/(.+)", "preupload"),
        ("POST", r"/api/models/([^/]+/[^/]+)/commit/(.+)", "commit"),
        ("POST", r"/([^/]+/[^/]+)\.git/info/lfs/objects/batch", "lfs_batch"),
        ("PUT", r"/lfs/([0-9a-f]{64})", "lfs_upload"),
        ("GET", r"/lfs/([0-9a-f]{64})", "lfs_download"),
        ("HEAD", r"/lfs/([0-9a-f]{64})", "lfs_download"),
        ("GET", r"/api/models/([^/]+/[^/]+)/tree/([^/]+)", "tree"),
        ("GET", r"/api/models/([^/]+/[^/]+)/revision/(.+)", "info"),
        ("GET", r"/api/models/([^/]+/[^/]+)", "info"),
        ("HEAD", r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", "resolve"),
        ("GET", r"/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", "resolve"),
    )

    def setup(self) -> None:
        super().setup()
        self.hub.connections.append(self.connection)

    def handle_request(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        self.body = self.rfile.read(length)
        path = unquote(urlparse(self.path).path)
        self.hub.requests.append((self.command, path))
        for part, status in self.hub.statuses.items():
            if part in path:
                self.answer_error(status, "", "as the test wants it")
                return
        for method, pattern, name in self.routes:
            match = re.fullmatch(pattern, path)
            if method == self.command and match:
                getattr(self, name)(*match.groups())
                return
        self.answer_error(404, "", f"no route for {path}")

    do_GET = do_POST = do_PUT = do_HEAD = handle_request

    def log_message(self, *values: object) -> None:
        """Print nothing."""

    # Answers

    def answer(self, content: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def answer_json(self, value: object, status: int = 200) -> None:
        self.answer(json.dumps(value).encode(), status, Content_Type="application/json")

    def answer_error(self, status: int, code: str, message: str) -> None:
        headers = {"X_Error_Message": message}
        if code:
            headers["X_Error_Code"] = code
        self.answer(json.dumps({"error": message}).encode(), status, **headers)

    def repository(self, name: str) -> Repository | None:
        """Repository that the request may read; else answers with an error."""
        repository = self.hub.repositories.get(name)
        if name in self.hub.gated:
            self.answer_error(403, "GatedRepo", "access is restricted")
            return None
        if repository is None or (repository.private and not self.is_logged_in()):
            self.answer_error(401 if not self.is_logged_in() else 404, "RepoNotFound", "not found")
            return None
        return repository

    def commit_of(self, repository: Repository, revision: str) -> str | None:
        commit = repository.branches.get(revision, revision)
        if commit not in repository.commits:
            self.answer_error(404, "RevisionNotFound", "no such revision")
            return None
        return commit

    def is_logged_in(self) -> bool:
        return self.headers.get("Authorization") == f"Bearer {TOKEN}"

    def may_write(self) -> bool:
        if not self.is_logged_in():
            self.answer_error(401, "", "Invalid credentials in Authorization header")
        return self.is_logged_in()

    # Upload

    def create(self) -> None:
        if not self.may_write():
            return
        values = json.loads(self.body)
        name = f"{values['organization']}/{values['name']}"
        url = f"{self.hub.endpoint}/{name}"
        if name in self.hub.repositories:
            self.answer_json({"url": url, "error": "You already created this model repo"}, 409)
            return
        self.hub.add(name, {".gitattributes": b""}, private=values.get("visibility") == "private")
        self.answer_json({"url": url})

    def create_branch(self, name: str, branch: str) -> None:
        repository = self.repository(name)
        if repository is None or not self.may_write():
            return
        if branch in repository.branches:
            self.answer_error(409, "", "Reference already exists")
            return
        repository.branches[branch] = repository.branches["main"]
        self.answer_json({})

    def validate_card(self) -> None:
        """Check the metadata as the hub does: codes of languages, identifier of the licence."""
        import yaml

        content = json.loads(self.body)["content"]
        metadata = yaml.safe_load(content.split("---")[1])
        errors = []
        for code in metadata.get("language") or []:
            if not re.fullmatch(r"[a-z]{2,3}|code|multilingual", code):
                errors.append(f'"language" {code} must be an ISO 639 code')
        if metadata.get("license", "other") not in ("apache-2.0", "mit", "cc-by-4.0", "other"):
            errors.append('"license" must be one of the known identifiers')
        result = {"errors": [{"message": error} for error in errors], "warnings": []}
        self.answer_json(result, 400 if errors else 200)

    def preupload(self, name: str, revision: str) -> None:
        repository = self.repository(name)
        if repository is None or not self.may_write():
            return
        present = repository.files(revision)
        files = []
        for file in json.loads(self.body)["files"]:
            path = file["path"]
            answer = {"path": path, "shouldIgnore": False}
            answer["uploadMode"] = "lfs" if path.endswith(LARGE) else "regular"
            if path in present:
                answer["oid"] = self.git_id(path, present[path])
            files.append(answer)
        self.answer_json({"files": files})

    @staticmethod
    def git_id(path: str, content: bytes) -> str:
        """Git hash of a file; of a large one, that of its pointer is another one."""
        return blob_id(content) if not path.endswith(LARGE) else "0" * 40

    def lfs_batch(self, name: str) -> None:
        if self.repository(name) is None or not self.may_write():
            return
        objects = []
        for entry in json.loads(self.body)["objects"]:
            answer = dict(entry)
            if entry["oid"] not in self.hub.objects:
                answer["actions"] = {"upload": {"href": f"{self.hub.endpoint}/lfs/{entry['oid']}"}}
            objects.append(answer)
        self.answer_json({"transfer": "basic", "objects": objects})

    def lfs_upload(self, oid: str) -> None:
        assert hashlib.sha256(self.body).hexdigest() == oid
        self.hub.objects[oid] = self.body
        self.answer(b"")

    def commit(self, name: str, revision: str) -> None:
        repository = self.repository(name)
        if repository is None or not self.may_write():
            return
        files = dict(repository.files(revision))
        message = ""
        for line in self.body.splitlines():
            operation = json.loads(line)
            value = operation["value"]
            if operation["key"] == "header":
                message = value["summary"]
            elif operation["key"] == "file":
                files[value["path"]] = base64.b64decode(value["content"])
            elif operation["key"] == "lfsFile":
                files[value["path"]] = self.hub.objects[value["oid"]]
            elif operation["key"] == "deletedFile":
                del files[value["path"]]
        commit = repository.commit(revision, files, message)
        url = f"{self.hub.endpoint}/{name}/commit/{commit}"
        self.answer_json({"commitUrl": url, "commitOid": commit})

    # Download

    def info(self, name: str, revision: str = "main") -> None:
        repository = self.repository(name)
        if repository is None:
            return
        commit = self.commit_of(repository, revision)
        if commit is None:
            return
        siblings = [{"rfilename": path} for path in repository.commits[commit]]
        self.answer_json(
            {"id": name, "sha": commit, "private": repository.private, "siblings": siblings}
        )

    def tree(self, name: str, revision: str) -> None:
        repository = self.repository(name)
        if repository is None:
            return
        commit = self.commit_of(repository, revision)
        if commit is None:
            return
        entries = []
        for path, content in repository.commits[commit].items():
            entry = {"type": "file", "path": path, "size": len(content)}
            entry["oid"] = blob_id(content)
            if path.endswith(LARGE):
                digest = hashlib.sha256(content).hexdigest()
                entry["lfs"] = {"oid": digest, "size": len(content), "pointerSize": 130}
            entries.append(entry)
        self.answer_json(entries)

    def resolve(self, name: str, revision: str, path: str) -> None:
        """Content of a small file, or a redirect to a large one."""
        repository = self.repository(name)
        if repository is None:
            return
        commit = self.commit_of(repository, revision)
        if commit is None:
            return
        content = repository.commits[commit].get(path)
        if content is None:
            self.answer_error(404, "EntryNotFound", "no such file")
            return
        headers = {"X_Repo_Commit": commit}
        if not path.endswith(LARGE):
            if self.command == "GET":
                self.hub.sent.add(path)
            self.answer(content, ETag=f'"{blob_id(content)}"', **headers)
            return
        digest = hashlib.sha256(content).hexdigest()
        self.hub.objects[digest] = content
        self.hub.large_names[digest] = path
        headers["X_Linked_Etag"] = f'"{digest}"'
        headers["X_Linked_Size"] = str(len(content))
        # The hub sends large files from another host, which gets no token.
        location = f"http://localhost:{self.hub.server.server_port}/lfs/{digest}"
        self.answer(b"", 302, Location=location, **headers)

    def lfs_download(self, oid: str) -> None:
        """Content of a large file, from the first byte of `Range` on."""
        assert "Authorization" not in self.headers
        content = self.hub.objects[oid]
        if self.command == "GET":
            self.hub.sent.add(self.hub.large_names[oid])
        wanted = self.headers.get("Range")
        status = 200
        headers = {"ETag": f'"{oid}"'}
        if wanted:
            self.hub.ranges.append(wanted)
            start = int(re.fullmatch(r"bytes=(\d+)-", wanted)[1])
            headers["Content_Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            content = content[start:]
            status = 206
        if self.hub.cut_after is not None and self.command == "GET":
            self.answer_partly(content, status, headers)
            return
        self.answer(content, status, **headers)

    def answer_partly(self, content: bytes, status: int, headers: dict[str, str]) -> None:
        """Break the connection after some bytes."""
        count = self.hub.cut_after
        self.hub.cut_after = None
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[:count])
        self.close_connection = True


def use_hub(patch: pytest.MonkeyPatch, endpoint: str, cache: Path) -> None:
    """Let `huggingface_hub`, which reads the environment only once, use a server and a cache."""
    from huggingface_hub import _tree_cache, constants

    patch.setenv("HF_TOKEN", TOKEN)
    patch.setattr(constants, "ENDPOINT", endpoint)
    template = f"{endpoint}/{{repo_id}}/resolve/{{revision}}/{{filename}}"
    patch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    patch.setattr(constants, "HF_HUB_CACHE", str(cache))
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    patch.setattr(_tree_cache, "_IN_MEMORY_TREE_CACHE", {})
