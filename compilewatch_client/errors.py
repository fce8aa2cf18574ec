"""What can go wrong, each with a text that says what, where, and what to do."""


class ClientError(Exception):
    """Base of all."""


class NotConfigured(ClientError):
    """Neither arguments nor variables nor the file say where the site is."""


class Unreachable(ClientError):
    """No answer came."""


class ApiError(ClientError):
    """The site refused. status: of HTTP; detail: in the site's words."""

    def __init__(self, status: int, detail: str) -> None:
        super().__init__(detail)
        self.status, self.detail = status, detail
