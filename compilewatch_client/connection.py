"""Connection to the site's API: pages of lists, answers that have not changed, errors."""

from collections.abc import Iterator, Mapping
from typing import Any, Self, TypeVar, cast

import httpx

from compilewatch_client.errors import ApiError, Unreachable
from compilewatch_client.settings import read_settings

API = "/api/v1/"
TIMEOUT_S = 60.0

Document = dict[str, Any]
Answer = TypeVar("Answer")


class Connection:
    """One site and who asks it. `kind` is the type of what is answered; it is not checked.

    url, token: where they are empty, those of the environment or the file, as settings.py says.
    """

    def __init__(self, url: str = "", token: str = "") -> None:
        settings = read_settings(url, token)
        headers = {}
        if settings.token:
            headers["Authorization"] = f"Bearer {settings.token}"
        self.url = settings.url
        self._http = httpx.Client(
            base_url=settings.url + API,
            headers=headers,
            timeout=TIMEOUT_S,
            follow_redirects=False,
        )
        # Address -> the ETag of its last answer, and that answer
        self._cache: dict[str, tuple[str, Any]] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._http.close()

    def _list(
        self, path: str, kind: type[Answer], filters: Mapping[str, Any] | None = None
    ) -> Iterator[Answer]:
        page = self._get(path, Document, filters)
        yield from page["results"]
        while page["next"]:
            # Our own address: the site may know itself by another
            query = httpx.URL(page["next"]).query.decode()
            page = self._get(f"{path}?{query}", Document)
            yield from page["results"]

    def _get(self, path: str, kind: type[Answer], query: Mapping[str, Any] | None = None) -> Answer:
        """The document at `path`, from the cache where it has not changed on the site."""
        params = {}
        for name, value in (query or {}).items():
            if value not in ("", None):
                params[name] = value
        address = f"{path} {sorted(params.items())}"
        etag, cached = self._cache.get(address, ("", None))
        headers = {"If-None-Match": etag} if etag else {}
        response = self._request("GET", path, params=params or None, headers=headers)
        if response.status_code == httpx.codes.NOT_MODIFIED:
            return cast(Answer, cached)
        document = self._document(response)
        if "is_active" in document:  # what is polled has this field
            self._cache[address] = (response.headers.get("ETag", ""), document)
        return cast(Answer, document)

    def _post(self, path: str, kind: type[Answer], body: Mapping[str, Any] | None = None) -> Answer:
        fields = {name: value for name, value in (body or {}).items() if value is not None}
        return cast(Answer, self._document(self._request("POST", path, json=fields)))

    def _request(self, method: str, path: str, **options: Any) -> httpx.Response:
        try:
            response = self._http.request(method, path, **options)
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise Unreachable(
                f"{self.url} did not answer: {error}. Is that its address, and is it up?"
            ) from None
        if response.is_success or response.status_code == httpx.codes.NOT_MODIFIED:
            return response
        raise ApiError(response.status_code, self._detail(response))

    def _document(self, response: httpx.Response) -> Any:
        try:
            return response.json()
        except ValueError:
            raise ApiError(response.status_code, self._detail(response)) from None

    def _detail(self, response: httpx.Response) -> str:
        try:
            return str(response.json()["detail"])
        except (ValueError, KeyError, TypeError):
            path = response.request.url.path
            return (
                f"{self.url} answered {response.status_code} to {path}: is it a Compilewatch site?"
            )
