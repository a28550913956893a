"""Known errors reach the person as they are; unknown ones are ours and are logged."""

import logging
from collections.abc import Iterator

import gradio as gr
import pytest

from explorer.core.error_view import guarded
from scoring.errors import KnownError


def test_an_unknown_error_is_logged_with_its_traceback_and_not_shown(
    caplog: pytest.LogCaptureFixture,
) -> None:
    @guarded
    def unknown() -> None:
        raise ZeroDivisionError("secret detail")

    with caplog.at_level(logging.ERROR), pytest.raises(gr.Error) as shown:
        unknown()
    assert "This is a bug in the app" in shown.value.message
    assert "secret detail" not in shown.value.message
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


def test_a_stream_keeps_what_it_gave_before_it_failed_in_inert_text() -> None:
    @guarded
    def stream() -> Iterator[int]:
        yield 1
        raise KnownError("Give a number, not <b>.")

    values = stream()
    assert next(values) == 1
    with pytest.raises(gr.Error, match="Give a number, not &lt;b&gt;"):
        next(values)
