"""Known errors reach the person as they are; unknown ones are ours and are logged."""

import logging
from collections.abc import Iterator

import gradio as gr
import pytest

from explorer.core.error_view import guarded
from scoring.errors import KnownError


@guarded
def _known() -> None:
    raise KnownError("Give a number, not <b>.")


@guarded
def _unknown() -> None:
    raise ZeroDivisionError("secret detail")


@guarded
def _stream() -> Iterator[int]:
    yield 1
    raise KnownError("Stopped short.")


def test_a_known_error_is_shown_as_inert_text() -> None:
    with pytest.raises(gr.Error, match="Give a number, not &lt;b&gt;"):
        _known()


def test_an_unknown_error_is_logged_with_its_traceback_and_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error) as shown:
        _unknown()
    assert shown.value.message == (
        "This is a bug in the app, not your mistake; details are in the server's log. Nothing "
        "you did is lost: try again."
    )
    assert "secret detail" in caplog.text and "Traceback" in caplog.text


def test_work_that_a_failed_callback_left_is_ended_though_its_error_is_kept() -> None:
    ended: list[bool] = []

    def work() -> Iterator[int]:
        try:
            yield 1
        finally:
            ended.append(True)

    @guarded
    def leaves() -> None:
        next(steps := work())
        raise KnownError(f"Not {steps}.")

    with pytest.raises(gr.Error) as shown:
        leaves()
    assert ended and shown.value.__cause__ is not None


def test_a_stream_keeps_what_it_gave_before_it_failed() -> None:
    stream = _stream()
    assert next(stream) == 1
    with pytest.raises(gr.Error, match="Stopped short"):
        next(stream)
