import math

from scoring.probing.side_rewards import SideRewards, TokenReward, largest_jumps


def side(*rewards: float, before: float | None = 0.0) -> SideRewards:
    tokens = tuple(TokenReward("a", n, n + 1, True, reward) for n, reward in enumerate(rewards))
    return SideRewards("a" * len(tokens), (0, len(tokens)), tokens, before, truncated=False)


def test_the_reward_is_the_last_tokens() -> None:
    assert (side(1.0, 2.0).rewards, side(1.0, 2.0).reward) == ((1.0, 2.0), 2.0)


def test_the_largest_jumps_come_first_whatever_their_sign() -> None:
    jumps = largest_jumps(side(1.0, -2.0, -1.5, 3.0))
    assert jumps == [(3, 4.5), (1, -3.0), (0, 1.0), (2, 0.5)]
    assert largest_jumps(side(1.0, -2.0, -1.5, 3.0), 2) == jumps[:2]


def test_equal_jumps_keep_the_texts_order() -> None:
    assert largest_jumps(side(1.0, 0.0, 1.0)) == [(0, 1.0), (1, -1.0), (2, 1.0)]


def test_no_change_is_no_jump() -> None:
    assert largest_jumps(side(0.5, 0.5, 0.5, before=0.5)) == []


def test_the_first_token_jumps_only_from_a_known_reward() -> None:
    assert largest_jumps(side(9.0, 10.0, before=None)) == [(1, 1.0)]


def test_what_is_no_number_is_no_jump() -> None:
    assert largest_jumps(side(1.0, math.nan, 2.0, math.inf, 3.0, 4.0)) == [(0, 1.0), (5, 1.0)]
