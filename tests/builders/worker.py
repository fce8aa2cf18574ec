"""A site that a worker can talk to: a real HTTP server with the answers of the worker API, and a
record of the calls.

It keeps jobs in memory and decides as docs/architecture.md says: one claim per attempt, 409 for
every other attempt, a new boot id voids the claims of the old one. `stop` and `start` are the
site's death and its return on the same port.
"""

import gzip
import json
import re
import threading
import time
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "the-worker-token"
BENCHMARK = "mlp.smoke.inference.float32.static.b64"


@dataclass
class SiteJob:
    """One job as the site sees it."""

    spec: dict[str, Any]
    timeout_s: float
    environment: dict[str, Any] | None = None  # what a claim's answer says of it
    attempt: int = 1
    state: str = "queued"
    cancel: bool = False
    beats: list[dict[str, Any]] = field(default_factory=list)
    # Every result body that arrived, also a repeated one
    bodies: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    requirements: str = ""  # the set that was agreed on

    @property
    def outcome(self) -> dict[str, Any]:
        return dict(self.bodies[-1]["outcome"])


class SiteServer:
    """refuse: path fragment -> the status and detail with which calls of that path are answered."""

    def __init__(self) -> None:
        self.jobs: dict[str, SiteJob] = {}
        self.calls: list[str] = []
        self.hellos: list[dict[str, Any]] = []
        self.environments: list[dict[str, Any]] = []  # what was told of them, in order
        # Packages that were asked for -> the set that counts
        self.pinned: dict[tuple[str, ...], str] = {}
        self.refuse: dict[str, tuple[int, str]] = {}
        # Why result documents are answered 422; an outcome without one is taken
        self.refuse_results = ""
        self.forgive_after = 0  # with this many calls `refuse` is forgotten; 0: never
        self.paused = False
        self.repositories: list[dict[str, Any]] = []  # what workers are told to fetch
        self.own_models: list[dict[str, Any]] = []  # what they told of those
        self._boot_id = ""
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    def start(self) -> None:
        handler = type("Handler", (_Handler,), {"site": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), handler)
        self._port = self._server.server_port
        threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True
        ).start()

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def add(
        self,
        job_id: str,
        *,
        timeout_s: float = 60,
        config: str = "eager",
        environment: dict[str, Any] | None = None,
        **spec: Any,
    ) -> SiteJob:
        """A queued job; `config` is what the fake suite does."""
        named = {"schema": "job.v1", "job_id": job_id, "benchmark": BENCHMARK, "config": config}
        self.jobs[job_id] = SiteJob({**named, **spec}, timeout_s, environment)
        return self.jobs[job_id]

    def told(self, state: str) -> list[str]:
        """The messages that came with environments in this state."""
        return [each["message"] for each in self.environments if each["state"] == state]

    def answer(
        self, method: str, path: str, query: dict[str, list[str]], body: bytes
    ) -> tuple[int, dict[str, Any]]:
        call = path.removeprefix("/api/v1/worker/")
        self.calls.append(f"{method} {call}")
        if len(self.calls) == self.forgive_after:
            self.refuse.clear()
        for fragment, (status, detail) in self.refuse.items():
            if fragment in call:
                return status, {"detail": detail}
        if call == "hello":
            return self._hello(json.loads(body))
        if call == "alive":
            return 200, {"paused": self.paused, "repositories": self.repositories}
        if call == "repositories":
            self.own_models.append(json.loads(body))
            return 200, {"noted": 1}
        if call == "environments":
            self.environments += json.loads(body)["environments"]
            return 200, {"noted": 1}
        return self._job_call(call, query, body)

    def _hello(self, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        self.hellos.append(body)
        if body["boot_id"] != self._boot_id:
            self._boot_id = body["boot_id"]
            for job in self.jobs.values():
                if job.state == "running":
                    job.state, job.attempt = "queued", job.attempt + 1
        limits = {"paused": self.paused, "heartbeat_s": 0.2, "lease_s": 30}
        return 200, {"worker": "local", "machine": "cpu", "queue": "machine.cpu", **limits}

    def _job_call(
        self, call: str, query: dict[str, list[str]], body: bytes
    ) -> tuple[int, dict[str, Any]]:
        found = re.fullmatch(
            r"jobs/([^/]+)/(claim|requirements|heartbeat|result|artifacts/(.+))", call
        )
        job = self.jobs.get(found[1]) if found else None
        if not found or not job:
            return 404, {"detail": "no such job"}
        if found[3]:
            job.artifacts[found[3]] = body
            return (
                (200, {"digest": "d"})
                if query["attempt"] == [str(job.attempt)]
                else (409, {"detail": "attempt"})
            )
        document = json.loads(body)
        if document["attempt"] != job.attempt:
            return 409, {"detail": f"attempt {job.attempt} counts"}
        calls = {
            "claim": self._claim,
            "requirements": self._pin,
            "heartbeat": self._beat,
            "result": self._result,
        }
        return calls[found[2]](job, document)

    def _claim(self, job: SiteJob, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if job.state != "queued" or self.paused:
            return 409, {"detail": f"the job is {job.state}"}
        job.state = "running"
        spec = {**job.spec, "attempt": job.attempt}
        limits = {"lease_s": 30, "heartbeat_s": 0.2, "timeout_s": job.timeout_s}
        if job.environment is None:
            return 200, {"job": spec, **limits}
        known = self.pinned.get(tuple(job.environment["packages"]))
        return 200, {
            "job": spec,
            "environment": {"requirements": known, **job.environment},
            **limits,
        }

    def _pin(self, job: SiteJob, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        assert job.environment
        job.requirements = self.pinned.setdefault(tuple(job.environment["packages"]), body["text"])
        return 200, {"text": job.requirements}

    def _beat(self, job: SiteJob, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if job.state != "running":
            return 409, {"detail": f"the job is {job.state}"}
        job.beats.append(body)
        return 200, {"cancel": job.cancel}

    def _result(self, job: SiteJob, body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if job.state != "running" and body not in job.bodies:
            return 409, {"detail": f"the job is {job.state}"}
        if self.refuse_results and body["result"]:
            return 422, {"detail": self.refuse_results}
        job.bodies.append(body)
        job.state = (
            "cancelled"
            if body["outcome"]["status"] == "cancelled"
            else "done"
            if body["result"]
            else "failed"
        )
        return 200, {"state": job.state}


class _Handler(BaseHTTPRequestHandler):
    site: SiteServer
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        parts = urlsplit(self.path)
        status, answer = 401, {"detail": "no worker has this token"}
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            status, answer = self.site.answer(self.command, parts.path, parse_qs(parts.query), body)
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = _handle

    def log_message(self, format: str, *arguments: object) -> None:
        """The record in `calls` is enough."""


def wait_for(condition: Any, seconds: float = 60) -> None:
    """Until `condition()` is true; TimeoutError when it is not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not within {seconds} s: {condition}")
        time.sleep(0.02)
