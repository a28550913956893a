"""What the server remembers of an open page, as one value."""

from dataclasses import dataclass, field
from typing import Any, TypeVar

from explorer.reader.state import PairsState
from explorer.runs.visitors import Visitor

T = TypeVar("T")


@dataclass
class Session:
    """What the server remembers of an open page; callbacks change it in place, in turn.

    visitor: who has it open; here on the server no event's data can replace it.
    results_id: of the published results, as `ResultsLibrary.get` takes it.
    """

    visitor: Visitor = field(default_factory=Visitor)
    results_id: str | None = None
    _seen: dict[type, Any] = field(default_factory=dict)

    def get(self, kind: type[T]) -> T | None:
        """What is shown of a kind; None where nothing is."""
        return self._seen.get(kind)

    def seen(self, kind: type[T]) -> T:
        """What is shown of a kind; what that is without arguments, before anything was."""
        found = self.get(kind)
        return kind() if found is None else found

    def show(self, value: object) -> None:
        """Remember what is shown now of the value's kind."""
        self._seen[type(value)] = value

    def forget(self, kind: type) -> None:
        """Nothing of a kind is shown any more."""
        self._seen.pop(kind, None)

    @property
    def table_id(self) -> str:
        """The pairs that are looked at, as `Library.find` takes them."""
        return self.seen(PairsState).source

    @property
    def where(self) -> tuple[str | None, str, Visitor]:
        """Whose results of which pairs are looked at: results, pairs, visitor."""
        return self.results_id, self.table_id, self.visitor
