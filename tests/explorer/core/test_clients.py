import pytest

from explorer.core.clients import client_address


@pytest.mark.parametrize(
    ("peer", "forwarded", "proxies", "counted"),
    [
        ("192.168.0.1", "1.1.1.1,8.8.8.8 , 10.0.0.1,127.0.0.1", 1, "8.8.8.8"),
        ("::ffff:10.0.0.1", "8.8.8.8", 1, "8.8.8.8"),
        ("10.1.2.3", "8.8.8.8, <script>", 1, ""),
        (7, ["8.8.8.8"], 1, ""),
        ("10.0.0.1", "1.1.1.1," * 100_000 + "8.8.8.8", 1, "8.8.8.8"),
        ("10.0.0.1", "8.8.8.8," + "10.0.0.1," * 100_000 + "10.0.0.2", 1, ""),
        ("104.16.0.2", "1.2.3.4, 8.8.8.8, 104.16.0.1", 3, "8.8.8.8"),
        (None, "1.1.1.1", 0, ""),
    ],
)
def test_what_a_client_makes_up_does_not_hide_its_address(
    peer: object, forwarded: object, proxies: int, counted: str
) -> None:
    assert client_address(peer, forwarded, proxies=proxies) == counted
