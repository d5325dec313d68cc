"""What a figure of a paper is here, and how its measurements are kept."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from runs import Bench


@dataclass(frozen=True)
class Row:
    """A measurement: of a series (an engine, as a rule), at a place of the x axis."""

    series: str
    x: float | str
    values: Mapping[str, float]  # by the name of what was measured, unit included
    theirs: float | None = None  # what the paper prints for the figure's y


@dataclass(frozen=True)
class Figure:
    name: str  # "fcae-figure-10"
    title: str
    x: str  # the name of the x axis, unit included
    y: str  # which of the values is drawn
    measure: Callable[[Bench], Iterable[Row]]
    differs: tuple[str, ...]  # from what the paper did: whole sentences
    log_x: bool = False
    paper_says: str = ""  # where the paper prints no numbers


@dataclass(frozen=True)
class Measured:
    figure: Figure
    data_gb: float
    rows: list[Row] = field(default_factory=list)


def save(measured: Measured, directory: Path) -> None:
    directory.mkdir(parents=True, exist_ok=True)
    rows = [vars(row) for row in measured.rows]
    text = json.dumps({"data_gb": measured.data_gb, "rows": rows}, indent=1)
    (directory / f"{measured.figure.name}.json").write_text(text + "\n")


def load(figure: Figure, directory: Path) -> Measured | None:
    """What was measured last; None if nothing was."""
    path = directory / f"{figure.name}.json"
    if not path.exists():
        return None
    kept = json.loads(path.read_text())
    return Measured(figure, kept["data_gb"], [Row(**row) for row in kept["rows"]])
