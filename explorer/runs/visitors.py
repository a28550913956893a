"""Who asks: what their runs belong to, and with what right models are fetched for them."""

import hashlib
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import Literal, TypeGuard

LONGEST_SECRET = 200
_USER = "user:"
EVERYBODY = ""
"""The owner of what is done where nobody is told apart, as on one's own machine."""


@dataclass(frozen=True, slots=True)
class Visitor:
    """One person at one open page, as the server knows them; never what a browser claims.

    owner: "user:NAME" of who signed in, else "browser:DIGEST" of the secret that their browser
        keeps, else `EVERYBODY`.
    session: of the open page; what it tries or probes ends when it is closed, no run does.
    token: the visitor's own token for the Hub; False where there is none. Never the server's.
    address: where they are, as far as that tells people apart; "" where it does not.
    """

    owner: str = EVERYBODY
    session: str = ""
    token: str | Literal[False] = field(default=False, repr=False)
    address: str = ""

    @property
    def signed_in(self) -> bool:
        """Whether the owner is an account of the Hub."""
        return self.owner.startswith(_USER)


def owner_of(user: str | None, secret: object) -> str:
    """What the runs of a person belong to: their account, else the secret in their browser.

    >>> owner_of("ana", "s"), owner_of(None, "s"), owner_of(None, None)
    ('user:ana', 'browser:043a718774c572bd8a25adbeb1bfcd5c', '')
    """
    if user:
        return f"{_USER}{user}"
    if not is_secret(secret):
        return EVERYBODY
    return f"browser:{hashlib.sha256(secret.encode()).hexdigest()[:32]}"


def is_secret(secret: object) -> TypeGuard[str]:
    """Whether a browser may keep it: short plain text, as the server makes it."""
    return isinstance(secret, str) and 0 < len(secret) <= LONGEST_SECRET and secret.isascii()


MOST_HOPS = 20
"""Proxies that are looked through."""
_HOUSEHOLD = 64
"""Bits of an IPv6 address that one household has in common."""


def client_address(peer: object, forwarded: object, *, proxied: bool) -> str:
    """The address that a request is counted by; "" where none tells people apart.

    Without a proxy it is the peer's own, whatever the header says. With one, a peer on a network of
    our own is a proxy. Of the addresses that proxies wrote down, the last
    public one is the client's: whatever stands before it, the client may have made up.

    Args:
        peer: address of who holds the connection.
        forwarded: the header X-Forwarded-For, with commas between addresses.
        proxied: whether a proxy stands before the server.

    >>> client_address("10.0.0.3", "8.8.8.8", proxied=False)
    '10.0.0.3'
    >>> client_address("8.8.8.8", "1.1.1.1", proxied=True)
    '8.8.8.8'
    >>> client_address("10.0.0.3", "9.9.9.9, 8.8.8.8, 10.0.0.9", proxied=True)
    '8.8.8.8'
    >>> client_address("10.0.0.3", "2a00:1450:4001:82a::200e", proxied=True)
    '2a00:1450:4001:82a::/64'
    >>> client_address("127.0.0.1", None, proxied=True)
    ''
    """
    if not proxied:
        own = _address(peer)
        return "" if own is None else _counted(own)
    hops = forwarded.split(",")[-MOST_HOPS:] if isinstance(forwarded, str) else []
    for hop in (peer, *reversed(hops)):
        address = _address(hop)
        if address is None:
            return ""
        if address.is_global:
            return _counted(address)
    return ""


def _address(hop: object) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(hop.strip()) if isinstance(hop, str) else None
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _counted(address: IPv4Address | IPv6Address) -> str:
    if isinstance(address, IPv6Address):
        return str(ip_network((address, _HOUSEHOLD), strict=False))
    return str(address)
