"""What callbacks fill, by the names that a part of the page has for its components."""

from collections.abc import Callable, Iterator
from typing import Any, ParamSpec, TypeVar

import gradio as gr

T = TypeVar("T")
P = ParamSpec("P")


class Filled(dict[str, Any]):
    """Name -> what it is filled with, `gr.skip()` where it stays; nested ones as "lengths.plot"."""

    def __getattr__(self, name: str) -> Any:
        return self[name]


def laid_out(build: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    """The components of a part, on a page of their own."""
    with gr.Blocks(analytics_enabled=False):
        return build(*args, **kwargs)


def names_of(parts: object, prefix: str = "") -> Iterator[tuple[gr.blocks.Block, str]]:
    inner = parts if isinstance(parts, dict) else vars(parts)
    for name, each in inner.items():
        if isinstance(each, gr.blocks.Block):
            yield each, f"{prefix}{name}"
        elif isinstance(each, dict) or hasattr(each, "__dict__"):
            yield from names_of(each, f"{prefix}{name}.")


def filled(parts: object, filling: Any) -> Filled:
    """What a callback gave."""
    names = dict(names_of(parts))
    given = {} if filling == gr.skip() else filling
    assert set(given) <= set(names), "a component of another part"
    return Filled({name: given.get(part, gr.skip()) for part, name in names.items()})


def answered(parts: Any, values: list[Any]) -> Filled:
    """What an event of a page of its own was answered, in the order of `parts.outputs`."""
    names = dict(names_of(parts))
    ordered = [names[part] for part in parts.outputs]
    return Filled(zip(ordered, values, strict=True))
