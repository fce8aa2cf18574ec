"""A site that a worker can talk to: a real HTTP server that answers the worker API.

It records the calls, keeps jobs in memory and decides as docs/architecture.md says: one claim per
attempt, 409 for every other attempt, a new boot id voids the claims of the old one. `stop` and
`start` are the site's death and its return on the same port.
"""

import gzip
import json
import re
import threading
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "the-worker-token"
BENCHMARK = "mlp.smoke.inference.float32.static.b64"
JOB_CALL = re.compile(
    r"jobs/([^/]+)/(waiting|claim|requirements|heartbeat|hand-back|result|artifacts/(.+))"
)
Response = tuple[int, dict[str, Any]]  # status and JSON body


@dataclass
class SiteJob:
    """One job as the site sees it."""

    spec: dict[str, Any]
    timeout_s: float
    environment: dict[str, Any] | None = None  # as a claim's answer describes it
    attempt: int = 1
    state: str = "queued"
    cancel: bool = False
    beats: list[dict[str, Any]] = field(default_factory=list)
    # Every result body that arrived, repeated ones included
    bodies: list[dict[str, Any]] = field(default_factory=list)
    artifacts: dict[str, bytes] = field(default_factory=dict)
    expected_s: float | None = None
    held_by: str = ""  # who has the device, as its worker said
    requirements: str = ""  # the set that was agreed on
    handed_back: list[bool] = field(default_factory=list)  # whether the attempt counts

    @property
    def outcome(self) -> dict[str, Any]:
        return dict(self.bodies[-1]["outcome"])

    @property
    def result(self) -> dict[str, Any]:
        return dict(self.bodies[0]["result"])

    def is_sampling(self) -> bool:
        return any(beat["phase"] == "sampling" for beat in self.beats)


class SiteServer:
    """The site, on a port of 127.0.0.1.

    environments: the reports, in order; pinned: packages -> the set that counts.
    refuse: path fragment -> the status and detail with which calls of that path are answered;
    forgive_after: with this many calls `refuse` is forgotten; 0: never.
    refuse_results: why result documents are answered 422; an outcome without one is taken.
    full_disk: what the worker last said of it.
    repositories: what workers have to fetch; own_models: what they reported of those.
    """

    def __init__(self) -> None:
        self.jobs: dict[str, SiteJob] = {}
        self.calls: list[str] = []
        self.hellos: list[dict[str, Any]] = []
        self.environments: list[dict[str, Any]] = []
        self.pinned: dict[tuple[str, ...], str] = {}
        self.refuse: dict[str, tuple[int, str]] = {}
        self.refuse_results = ""
        self.forgive_after = 0
        self.paused = False
        self.full_disk = ""
        self.repositories: list[dict[str, Any]] = []
        self.own_models: list[dict[str, Any]] = []
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
        serve = partial(self._server.serve_forever, poll_interval=0.02)
        threading.Thread(target=serve, daemon=True).start()

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
        expected_s: float | None = None,
        **spec: Any,
    ) -> SiteJob:
        """A queued job; `config` is what the fake suite does."""
        defaults = {
            "schema": "job.v1",
            "job_id": job_id,
            "benchmark": BENCHMARK,
            "config": config,
        }
        job = SiteJob({**defaults, **spec}, timeout_s, environment, expected_s=expected_s)
        self.jobs[job_id] = job
        return job

    def messages(self, state: str) -> list[str]:
        """The messages that came with environments in this state."""
        reports = [report for report in self.environments if report["state"] == state]
        return [report["message"] for report in reports]

    def answer(
        self,
        method: str,
        path: str,
        query: dict[str, list[str]],
        body: bytes,
    ) -> Response:
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
            self.full_disk = json.loads(body)["full_disk"]
            return 200, {"paused": self.paused, "repositories": self.repositories}
        if call == "repositories":
            self.own_models.append(json.loads(body))
            return 200, {"noted": 1}
        if call == "environments":
            self.environments += json.loads(body)["environments"]
            return 200, {"noted": 1}
        return self._job_call(call, query, body)

    def _hello(self, body: dict[str, Any]) -> Response:
        self.hellos.append(body)
        if body["boot_id"] != self._boot_id:
            self._boot_id = body["boot_id"]
            for job in self.jobs.values():
                if job.state == "running":
                    job.state, job.attempt = "queued", job.attempt + 1
        limits = {"paused": self.paused, "heartbeat_s": 0.2, "lease_s": 30}
        return 200, {
            "worker": "local",
            "machine": "cpu",
            "queue": "machine.cpu",
            "own_queue": "machine.cpu.local",
            **limits,
        }

    def _job_call(self, call: str, query: dict[str, list[str]], body: bytes) -> Response:
        match = JOB_CALL.fullmatch(call)
        if match is None or match[1] not in self.jobs:
            return 404, {"detail": "no such job"}
        job = self.jobs[match[1]]
        if artifact := match[3]:
            job.artifacts[artifact] = body
            if query["attempt"] != [str(job.attempt)]:
                return 409, {"detail": "attempt"}
            return 200, {"digest": "d"}
        document = json.loads(body)
        if document["attempt"] != job.attempt:
            return 409, {"detail": f"attempt {job.attempt} counts"}
        handlers = {
            "waiting": self._wait,
            "claim": self._claim,
            "requirements": self._pin,
            "heartbeat": self._beat,
            "hand-back": self._take_back,
            "result": self._result,
        }
        return handlers[match[2]](job, document)

    def _wait(self, job: SiteJob, body: dict[str, Any]) -> Response:
        if job.state != "queued":
            return 409, {"detail": f"the job is {job.state}"}
        job.held_by = body["held_by"]
        return 200, {"state": job.state, "expected_s": job.expected_s}

    def _take_back(self, job: SiteJob, body: dict[str, Any]) -> Response:
        if job.state != "running":
            return 409, {"detail": f"the job is {job.state}"}
        job.state, job.attempt = "queued", job.attempt + 1
        job.handed_back.append(body["counts"])
        return 200, {"state": job.state}

    def _claim(self, job: SiteJob, body: dict[str, Any]) -> Response:
        if job.state != "queued" or self.paused:
            return 409, {"detail": f"the job is {job.state}"}
        job.state = "running"
        spec = {**job.spec, "attempt": job.attempt}
        limits = {"lease_s": 30, "heartbeat_s": 0.2, "timeout_s": job.timeout_s}
        if job.environment is None:
            return 200, {"job": spec, **limits}
        pinned = self.pinned.get(tuple(job.environment["packages"]))
        environment = {**job.environment, "requirements": pinned}
        return 200, {"job": spec, "environment": environment, **limits}

    def _pin(self, job: SiteJob, body: dict[str, Any]) -> Response:
        assert job.environment
        packages = tuple(job.environment["packages"])
        job.requirements = self.pinned.setdefault(packages, body["text"])
        return 200, {"text": job.requirements}

    def _beat(self, job: SiteJob, body: dict[str, Any]) -> Response:
        if job.state != "running":
            return 409, {"detail": f"the job is {job.state}"}
        job.beats.append(body)
        return 200, {"cancel": job.cancel}

    def _result(self, job: SiteJob, body: dict[str, Any]) -> Response:
        if job.state != "running" and body not in job.bodies:
            return 409, {"detail": f"the job is {job.state}"}
        if self.refuse_results and body["result"]:
            return 422, {"detail": self.refuse_results}
        job.bodies.append(body)
        if body["outcome"]["status"] == "cancelled":
            job.state = "cancelled"
        else:
            job.state = "done" if body["result"] else "failed"
        return 200, {"state": job.state}


class _Handler(BaseHTTPRequestHandler):
    site: SiteServer
    protocol_version = "HTTP/1.1"

    def _handle(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Content-Encoding") == "gzip":
            body = gzip.decompress(body)
        if self.headers.get("Authorization") == f"Bearer {TOKEN}":
            parts = urlsplit(self.path)
            status, answer = self.site.answer(self.command, parts.path, parse_qs(parts.query), body)
        else:
            status, answer = 401, {"detail": "no worker has this token"}
        content = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    do_POST = do_PUT = _handle

    def log_message(self, format: str, *arguments: object) -> None:
        """The record in `calls` is enough."""
