"""Finding and loading the figure modules.

A figure is a file `figures/*.py` with

    NAME         what it is called, and its files
    EXPERIMENTS  a tuple of the experiments that it is for; None for any
    QUERIES      {key: name of a query, or SQL text}: everything that it reads
    draw(tables) a matplotlib Figure from {key: pandas DataFrame}; raises CannotAnswer when rows are wanting

and a docstring whose first paragraph says what the figure shows.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from nsight_suite.errors import SuiteError
from nsight_suite.sources import ExperimentSource, data_root

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class FigureSource:
    """A figure module that was found and loaded."""

    name: str
    path: Path
    about: str
    experiments: tuple[str, ...] | None
    queries: Mapping[str, str]
    draw: Callable[[Mapping[str, pd.DataFrame]], Figure]

    def is_named(self, key: str) -> bool:
        """Whether the query under that key is the name of one, not SQL text."""
        return len(self.queries[key].split()) == 1


def figure_sources(experiment: ExperimentSource | str | None = None) -> list[FigureSource]:
    """The figures for an experiment, in order of file name; every built-in figure when none is given.

    The figures/ folder of an experiment outside the project comes after the built-in ones.
    """
    folders = [data_root() / "figures"]
    if isinstance(experiment, ExperimentSource) and not experiment.built_in:
        folders.append(experiment.folder / "figures")
    name = experiment.name if isinstance(experiment, ExperimentSource) else experiment
    found = [_load(path) for folder in folders for path in sorted(folder.glob("[!_]*.py"))]
    return [
        source for source in found if name is None or source.experiments is None or name in source.experiments
    ]


def _load(path: Path) -> FigureSource:
    spec = importlib.util.spec_from_file_location(f"nsight_suite_figure_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise SuiteError(f"{path} is not a Python file.")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (SyntaxError, ImportError) as error:
        raise SuiteError(f"The figure {path} cannot be loaded: {error}.") from error
    try:
        experiments = module.EXPERIMENTS
        about = " ".join((module.__doc__ or "").strip().split("\n\n")[0].split())
        return FigureSource(
            name=module.NAME,
            path=path,
            about=about,
            experiments=None if experiments is None else tuple(experiments),
            queries=dict(module.QUERIES),
            draw=module.draw,
        )
    except AttributeError as error:
        raise SuiteError(
            f"The figure {path} lacks {error.name}.",
            "A figure has NAME, EXPERIMENTS, QUERIES and draw(tables).",
        ) from error
