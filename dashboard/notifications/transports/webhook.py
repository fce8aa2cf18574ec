"""Our own webhook: a signed JSON document (webhook.v1.json), sent to an address checked first.

docs/alerts.md describes it for those who receive it, with the lines that verify a signature.
"""

import asyncio
import hashlib
import hmac
import time
from urllib.parse import urlsplit

import httpx
import orjson

from dashboard.notifications.core.kinds import WEBHOOK_PREFIX
from dashboard.notifications.transports.addresses import checked_address, require_not_private
from dashboard.notifications.transports.deadline import no_answer
from dashboard.notifications.transports.message import Address, Message, NotSent

TIMEOUT_S = 10.0  # for the whole call
# Answers that another try would not change
GONE = frozenset({400, 401, 403, 404, 405, 410, 413, 415, 422})
_ANSWER_SHOWN = 300


def send(to: Address, message: Message, delivery: str) -> str:
    """Post the message's document; the receiver's answer. Raises NotSent, also for a redirect."""
    url = target_of(to)
    host = _ascii_host(url)
    port = url.port or (443 if url.scheme == "https" else 80)
    address = checked_address(host, port, allow_private=to.allow_private)
    body = orjson.dumps({**message.document, "delivery": delivery})
    headers = headers_for(body, to.secret, delivery, int(time.time()))
    headers["Host"] = url.netloc.decode("ascii")
    return _post(url.copy_with(host=address), host, body, headers)


def check(to: Address) -> None:
    """Raises NotSent for an address that is malformed or certainly private."""
    url = target_of(to)
    if not to.allow_private:
        require_not_private(_ascii_host(url))


def target_of(to: Address) -> httpx.URL:
    """Parse the address of a webhook into its URL. Raises NotSent for one that is malformed."""
    try:
        url = httpx.URL(to.url.removeprefix(WEBHOOK_PREFIX))
    except (httpx.InvalidURL, UnicodeError) as error:
        raise NotSent(f"This is not the address of a webhook: {error}.", permanent=True) from None
    is_port = url.port is None or 0 < url.port < 1 << 16
    if url.scheme in {"http", "https"} and url.raw_host and is_port:
        return url
    raise NotSent("The address of a webhook begins with https:// and names a host.", permanent=True)


def _ascii_host(url: httpx.URL) -> str:
    """The host as name servers, certificates and the Host header have it: IDNA-encoded."""
    return url.raw_host.decode("ascii")


def masked(url: str) -> str:
    """The address without what may be secret: account, path and query."""
    parts = urlsplit(url.removeprefix(WEBHOOK_PREFIX))
    return f"{WEBHOOK_PREFIX}{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"


def headers_for(body: bytes, secret: str, delivery: str, timestamp: int) -> dict[str, str]:
    """The headers of a delivery; without a secret it is not signed."""
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Compilewatch",
        "X-Compilewatch-Delivery": delivery,
        "X-Compilewatch-Timestamp": str(timestamp),
    }
    if secret:
        headers["X-Compilewatch-Signature"] = f"sha256={signature(body, secret, timestamp)}"
    return headers


def signature(body: bytes, secret: str, timestamp: int) -> str:
    """HMAC-SHA256 of "<timestamp>.<body>", in hex: an old delivery cannot pass as a new one."""
    return hmac.new(secret.encode(), f"{timestamp}.".encode() + body, hashlib.sha256).hexdigest()


def _post(url: httpx.URL, host: str, body: bytes, headers: dict[str, str]) -> str:
    """Post to the checked address; the certificate is still verified against the host's name."""
    try:
        response, beginning = asyncio.run(_answer(url, host, body, headers))
    except httpx.HTTPError as error:
        raise NotSent(f"{host} could not be asked: {type(error).__name__}: {error}") from None
    except TimeoutError:
        raise no_answer(host, TIMEOUT_S) from None
    text = beginning[:_ANSWER_SHOWN].decode(errors="replace")
    answer = f"{response.status_code} {response.reason_phrase}: {text}".rstrip(": ")
    if response.is_success:
        return answer
    if response.is_redirect:
        raise NotSent(
            f"{host} answered {answer}. Redirects are not followed: use its new address.",
            permanent=True,
        )
    raise NotSent(f"{host} answered {answer}", permanent=response.status_code in GONE)


async def _answer(
    url: httpx.URL, host: str, body: bytes, headers: dict[str, str]
) -> tuple[httpx.Response, bytes]:
    """The response, and the beginning of its text: its status decides, so that a text that drips
    in counts as far as it came.

    Raises TimeoutError. httpx's own timeouts begin again with each read: a receiver that sends a
    byte now and then would hold the sender without limit.
    """
    response, beginning = None, b""
    try:
        async with (
            asyncio.timeout(TIMEOUT_S),
            httpx.AsyncClient(timeout=TIMEOUT_S, trust_env=False, follow_redirects=False) as client,
            client.stream(
                "POST", url, content=body, headers=headers, extensions={"sni_hostname": host}
            ) as response,
        ):
            async for part in response.aiter_bytes():
                beginning += part
                if len(beginning) >= _ANSWER_SHOWN:
                    break
    except TimeoutError:
        if response is None:
            raise
    return response, beginning
