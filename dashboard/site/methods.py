"""HEAD without a body, and no TRACE, whatever answers."""

from collections.abc import Callable

from django.http import (
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    StreamingHttpResponse,
)
from django.http.response import HttpResponseBase

READING = ("GET", "HEAD", "OPTIONS")


class Methods:
    """The answer to HEAD has the headers of GET and no body: Django makes one, which gunicorn drops
    with a warning. TRACE, which views take for GET, is refused.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method == "TRACE":
            return HttpResponseNotAllowed(READING)
        response = self._get_response(request)
        if request.method == "HEAD":
            if isinstance(response, StreamingHttpResponse):
                response.streaming_content = []
            elif isinstance(response, HttpResponse):
                response.content = b""
        return response
