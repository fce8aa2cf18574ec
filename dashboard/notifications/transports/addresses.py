"""Addresses that a channel may reach: public ones, unless the site allows others.

Of a webhook a name is resolved once, each of its addresses is checked, and the connection goes to
the checked address itself: a name server that answers differently the second time (DNS rebinding)
gains nothing. Apprise's services connect by themselves, and some follow redirects: while one
sends, every name and address that its thread resolves is judged.
"""

import socket
from collections.abc import Iterator
from contextlib import contextmanager

from dashboard.accounts.core.public_addresses import NotPublic, is_public, only_public
from dashboard.notifications.transports.message import NotSent

ALLOW = "ALLOW_PRIVATE_WEBHOOKS"
WHAT_TO_DO = f"are refused unless the site is started with {ALLOW}=true."


def checked_address(host: str, port: int, *, allow_private: bool) -> str:
    """The address to connect to.

    Raises NotSent: for a name that does not resolve (temporary), or that leads to an address of a
    private network, of this machine or of a cloud's metadata service (permanent).
    """
    try:
        infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NotSent(f"The name {host} could not be resolved: {error}.") from None
    addresses = [str(info[4][0]) for info in infos]
    if not allow_private:
        for address in addresses:
            _require_public(host, address)
    return addresses[0]


def require_not_private(host: str) -> None:
    """Raises NotSent where it is certain, without a name server, that the host is not public: it
    is an address itself, in any notation, or this machine's own name.
    """
    is_own = host == "localhost" or host.endswith(".localhost")
    try:
        infos = socket.getaddrinfo(
            "127.0.0.1" if is_own else host, None, flags=socket.AI_NUMERICHOST
        )
    except (socket.gaierror, UnicodeError):
        return  # a name
    _require_public(host, str(infos[0][4][0]))


def _require_public(host: str, address: str) -> None:
    if not is_public(address):
        raise NotSent(
            f"{host} leads to {address}, which is not a public address. Webhooks into private "
            f"networks {WHAT_TO_DO}",
            permanent=True,
        )


@contextmanager
def public_only() -> Iterator[None]:
    """As `only_public`, which raises NotSent."""
    try:
        with only_public():
            yield
    except NotPublic as reason:
        raise NotSent(
            f"{reason} Services in private networks {WHAT_TO_DO}", permanent=True
        ) from None
