"""Where a request comes from, as far as that tells people apart."""

from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

MOST_HOPS = 20
"""Proxies that are looked through."""
_HOUSEHOLD = 64
"""Bits of an IPv6 address that one household has in common."""


def client_address(peer: object, forwarded: object, *, proxies: int) -> str:
    """The address that a request is counted by; "" where none tells people apart.

    Without a proxy it is the peer's own, whatever the header says. With one, a peer on a network of
    our own is a proxy. Of the addresses that proxies wrote down, the last public one is the
    client's: whatever stands before it, the client may have made up. Each further proxy has a
    public address of its own.

    Args:
        peer: address of who holds the connection.
        forwarded: the header X-Forwarded-For, with commas between addresses.
        proxies: how many stand before the server.

    >>> client_address("10.0.0.3", "8.8.8.8", proxies=0)
    '10.0.0.3'
    >>> client_address("8.8.8.8", "1.1.1.1", proxies=1)
    '8.8.8.8'
    >>> client_address("10.0.0.3", "9.9.9.9, 8.8.8.8, 10.0.0.9", proxies=1)
    '8.8.8.8'
    >>> client_address("10.0.0.3", "2a00:1450:4001:82a::200e", proxies=1)
    '2a00:1450:4001:82a::/64'
    >>> client_address("10.0.0.3", "8.8.8.8, 104.16.0.1", proxies=2)
    '8.8.8.8'
    >>> client_address("127.0.0.1", None, proxies=1)
    ''
    """
    if not proxies:
        own = _address(peer)
        return "" if own is None else _counted(own)
    hops = forwarded.split(",")[-MOST_HOPS:] if isinstance(forwarded, str) else []
    public: list[str] = []
    for hop in (peer, *reversed(hops)):
        address = _address(hop)
        if address is None or len(public) == proxies:
            break
        if address.is_global:
            public.append(_counted(address))
    return public[-1] if public else ""


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
