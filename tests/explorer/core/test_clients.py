import pytest

from explorer.core.clients import client_address


def test_the_last_public_address_is_counted(subtests: pytest.Subtests) -> None:
    cases: list[tuple[object, object, str]] = [
        ("8.8.8.8", None, "8.8.8.8"),
        ("8.8.8.8", "1.1.1.1", "8.8.8.8"),
        ("10.1.2.3", "8.8.8.8", "8.8.8.8"),
        ("127.0.0.1", "8.8.8.8", "8.8.8.8"),
        ("172.16.0.1", "1.1.1.1, 8.8.8.8", "8.8.8.8"),
        ("192.168.0.1", "1.1.1.1,8.8.8.8 , 10.0.0.1,127.0.0.1", "8.8.8.8"),
        ("100.64.0.1", "8.8.8.8", "8.8.8.8"),
        ("::1", "8.8.8.8", "8.8.8.8"),
        ("::ffff:10.0.0.1", "8.8.8.8", "8.8.8.8"),
        ("::ffff:8.8.8.8", "1.1.1.1", "8.8.8.8"),
        ("2a00:1450:4001:82a::1", None, "2a00:1450:4001:82a::/64"),
        ("2a00:1450:4001:82a:ffff::1", None, "2a00:1450:4001:82a::/64"),
        ("10.1.2.3", None, ""),
        ("10.1.2.3", "", ""),
        ("10.1.2.3", "10.0.0.1", ""),
        ("10.1.2.3", "8.8.8.8, unknown", ""),
        ("10.1.2.3", "8.8.8.8, <script>", ""),
        ("not an address", "8.8.8.8", ""),
        (None, None, ""),
        (7, ["8.8.8.8"], ""),
    ]
    for peer, forwarded, counted in cases:
        with subtests.test(peer=peer, forwarded=forwarded, counted=counted):
            assert client_address(peer, forwarded, proxies=1) == counted


def test_what_a_client_makes_up_does_not_hide_it() -> None:
    assert client_address("10.0.0.1", "1.2.3.4, 5.6.7.8, 8.8.8.8", proxies=1) == "8.8.8.8"


def test_each_further_proxy_has_a_public_address_of_its_own() -> None:
    header = "1.2.3.4, 8.8.8.8, 104.16.0.1"
    assert client_address("10.0.0.1", header, proxies=2) == "8.8.8.8"
    assert client_address("104.16.0.2", header, proxies=3) == "8.8.8.8"
    assert client_address("104.16.0.2", None, proxies=3) == "104.16.0.2"


def test_a_header_without_end_is_read_from_its_end() -> None:
    assert client_address("10.0.0.1", "1.1.1.1," * 100_000 + "8.8.8.8", proxies=1) == "8.8.8.8"
    assert (
        client_address("10.0.0.1", "8.8.8.8," + "10.0.0.1," * 100_000 + "10.0.0.2", proxies=1) == ""
    )


def test_without_a_proxy_the_header_is_anybodys_word(subtests: pytest.Subtests) -> None:
    cases_1: list[tuple[object, str]] = [
        ("192.168.1.5", "192.168.1.5"),
        ("127.0.0.1", "127.0.0.1"),
        ("8.8.8.8", "8.8.8.8"),
        ("fd00:1:2:3::5", "fd00:1:2:3::/64"),
        (None, ""),
        ("", ""),
    ]
    for forwarded in [None, "", "1.1.1.1", "1.1.1.1, 8.8.8.8", "junk"]:
        for peer, counted in cases_1:
            with subtests.test(forwarded=forwarded, peer=peer, counted=counted):
                assert client_address(peer, forwarded, proxies=0) == counted
