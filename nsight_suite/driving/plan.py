"""The plan that the suite hands to a driver: which pass, which cases, how often."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from nsight_suite.errors import UsageError
from nsight_suite.protocol import Case, Protocol, Shape, load
from nsight_suite.runfolder import read_json


@dataclass(frozen=True)
class Plan:
    pass_name: str
    protocol: Protocol
    kernels: Path
    device: int
    cases: tuple[Case, ...]
    seed: int
    warmups: int
    rounds: int
    invocations: int
    graph_setups: int

    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the cases, each once, in the order of the cases."""
        return tuple({case.shape.name: case.shape for case in self.cases}.values())

    def cases_at(self, shape: Shape) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.shape.name == shape.name)


def load_plan(path: Path) -> Plan:
    """Read plan.json and the protocol that it names.

    Raises UsageError for a missing key, a value of the wrong type or a case that the protocol does not have.
    """
    data = read_json(path)
    try:
        protocol = load(Path(data["protocol"]))
        known = {case.case_id: case for case in protocol.cases()}
        if unknown := [case_id for case_id in data["cases"] if case_id not in known]:
            raise UsageError(f"The plan {path} names cases that the protocol lacks: {', '.join(unknown)}.")
        return Plan(
            pass_name=str(data["pass"]),
            protocol=protocol,
            kernels=Path(data["kernels"]),
            device=int(data["device"]),
            cases=tuple(known[case_id] for case_id in data["cases"]),
            seed=int(data["seed"]),
            warmups=int(data["warmups"]),
            rounds=int(data["rounds"]),
            invocations=int(data["invocations"]),
            graph_setups=int(data["graph_setups"]),
        )
    except KeyError as error:
        raise UsageError(f"The plan {path} lacks the key {error}.") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"The plan {path} is malformed: {error}.") from error
