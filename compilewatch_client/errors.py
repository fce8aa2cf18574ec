"""Errors of the client, each with a text that says what, where, and what to do."""


class ClientError(Exception):
    """Base of the others."""


class NotConfigured(ClientError):
    """Neither arguments nor variables nor the file say where the site is."""


class Unreachable(ClientError):
    """The site did not answer."""


class ApiError(ClientError):
    """The site refused. status: the HTTP status; detail: why, in the site's words."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
