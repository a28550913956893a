"""What a check says: a line a point, as it comes."""

import gc
import time
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import torch


@dataclass
class Report:
    """The lines so far. seconds: in which parts may begin."""

    seconds: float
    began: float = field(default_factory=time.perf_counter)
    lines: dict[str, dict[str, Any]] = field(default_factory=dict)

    def tell(self, name: str, good: bool | None, words: str, **numbers: Any) -> None:
        """Write a line. good: None for a point that was not looked at. numbers: for the JSON."""
        status = "left out" if good is None else "ok" if good else "FAIL"
        self.lines[name] = {"status": status, "words": words, **numbers}
        spent = time.perf_counter() - self.began
        print(f"[{spent:6.1f} s] {status:8} {name}: {words}", flush=True)

    @contextmanager
    def point(self, name: str) -> Iterator[None]:
        """A point, which fails where it raises; what it held is given back."""
        try:
            yield
        except Exception as error:  # whatever a card, its driver or a library brings about
            place = traceback.extract_tb(error.__traceback__)[-1]
            where = f"{place.filename}:{place.lineno}"
            self.tell(name, False, f"{type(error).__name__}: {str(error)[:300]} ({where})")
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def has_time(self, name: str, seconds: float) -> bool:
        """Whether a point that takes so long may begin; if not, it is left out."""
        rest = max(0.0, self.seconds - (time.perf_counter() - self.began))
        if rest < seconds:
            why = f"takes about {seconds:.0f} s; {rest:.0f} of --seconds {self.seconds:.0f} remain"
            self.tell(name, None, why)
        return rest >= seconds

    @property
    def failed(self) -> list[str]:
        """Names of the lines that fail."""
        return [name for name, line in self.lines.items() if line["status"] == "FAIL"]
