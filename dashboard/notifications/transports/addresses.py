"""Which addresses a webhook may reach: public ones, unless the site allows others.

A name is resolved once, every address that it has is judged, and the connection goes to the judged
address itself: a name server that answers differently the second time (DNS rebinding) gains
nothing.
"""

import ipaddress
import socket

from dashboard.notifications.transports.message import NotSent

ALLOW = "ALLOW_PRIVATE_WEBHOOKS"


def checked_address(host: str, port: int, *, allow_private: bool) -> str:
    """The address to connect to.

    Raises NotSent: for a name that does not resolve (temporary), or that leads to an address of a
    private network, of this machine or of a cloud's metadata service (permanent).
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (socket.gaierror, UnicodeError) as error:
        raise NotSent(f"The name {host} could not be resolved: {error}.") from None
    addresses = [str(entry[4][0]) for entry in found]
    for address in addresses:
        if not allow_private and not is_public(address):
            raise NotSent(
                f"{host} leads to {address}, which is not a public address. Webhooks into "
                "private networks are refused"
                f" unless the site is started with {ALLOW}=true.",
                permanent=True,
            )
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is one of the public internet; an IPv4 address inside an IPv6 one is
    judged as itself.
    """
    found = ipaddress.ip_address(address.partition("%")[0])
    inner = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    if isinstance(found, ipaddress.IPv6Address) and found in _NAT64:
        inner = ipaddress.IPv4Address(int(found) & 0xFFFFFFFF)
    found = inner or found
    return found.is_global and not found.is_multicast


_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
