"""Which addresses a webhook may reach: public ones, unless the site allows others.

A name is resolved once, each of its addresses is checked, and the connection goes to the checked
address itself: a name server that answers differently the second time (DNS rebinding) gains
nothing.
"""

import ipaddress
import socket

from dashboard.notifications.transports.message import NotSent

ALLOW = "ALLOW_PRIVATE_WEBHOOKS"
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


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
    for address in addresses:
        if not allow_private and not is_public(address):
            raise NotSent(
                f"{host} leads to {address}, which is not a public address. Webhooks into private "
                f"networks are refused unless the site is started with {ALLOW}=true.",
                permanent=True,
            )
    return addresses[0]


def is_public(address: str) -> bool:
    """Whether an IP address is public; an IPv4 address inside an IPv6 one decides for it."""
    ip = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(ip, ipaddress.IPv6Address):
        if ip in _NAT64:
            ip = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        else:
            ip = ip.ipv4_mapped or ip.sixtofour or ip
    return ip.is_global and not ip.is_multicast
