"""The plan that the suite hands to a driver, as plan.json: which pass, which cases, how often."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nsight_suite.errors import UsageError
from nsight_suite.protocol import SESSIONS, Case, Protocol, Shape, load
from nsight_suite.runfolder import read_json

# The passes whose builds are kept: the kernels as they are measured, and as they are traced.
KEEPS_BUILDS = ("validate", "trace")


@dataclass(frozen=True)
class Plan:
    """One pass. `protocol_path` is the file of `protocol`, `kernels` the folder of the kernel sources."""

    pass_name: str
    protocol: Protocol
    protocol_path: Path
    kernels: Path
    device: int
    cases: tuple[Case, ...]
    rounds: int
    invocations: int

    @property
    def seed(self) -> int:
        return self.protocol.seed

    @property
    def warmups(self) -> int:
        return self.protocol.timing["warmups"]

    @property
    def graph_setups(self) -> int:
        return self.protocol.timing["graph_setups"]

    @property
    def second_session(self) -> bool:
        """Whether this is the second session of timing: on another GPU if there is one, the shapes reversed."""
        return self.pass_name == SESSIONS[1]

    def shapes(self) -> tuple[Shape, ...]:
        """The shapes of the cases, each once, in the order of the cases; in the second session reversed."""
        shapes = list({case.shape.name: case.shape for case in self.cases}.values())
        return tuple(reversed(shapes) if self.second_session else shapes)

    def shuffle_of(self, shape: Shape) -> str:
        """What, beside the seed, decides the order in which the cases of a shape take turns."""
        return f"{shape.name}:{self.pass_name}" if self.second_session else shape.name

    def cases_at(self, shape: Shape) -> tuple[Case, ...]:
        return tuple(case for case in self.cases if case.shape.name == shape.name)

    def as_json(self) -> dict[str, Any]:
        """The contents of plan.json."""
        return {
            "pass": self.pass_name,
            "protocol": str(self.protocol_path),
            "kernels": str(self.kernels),
            "device": self.device,
            "cases": [case.case_id for case in self.cases],
            "rounds": self.rounds,
            "invocations": self.invocations,
        }


def load_plan(path: Path) -> Plan:
    """Read plan.json and the protocol that it names.

    Raises UsageError for a missing key, a value of the wrong type or a case that the protocol does not have.
    """
    data = read_json(path)
    try:
        protocol_path = Path(data["protocol"])
        protocol = load(protocol_path)
        known = {case.case_id: case for case in protocol.cases()}
        if unknown := [case_id for case_id in data["cases"] if case_id not in known]:
            raise UsageError(f"The plan {path} names cases that the protocol lacks: {', '.join(unknown)}.")
        return Plan(
            pass_name=str(data["pass"]),
            protocol=protocol,
            protocol_path=protocol_path,
            kernels=Path(data["kernels"]),
            device=int(data["device"]),
            cases=tuple(known[case_id] for case_id in data["cases"]),
            rounds=int(data["rounds"]),
            invocations=int(data["invocations"]),
        )
    except KeyError as error:
        raise UsageError(f"The plan {path} lacks the key {error}.") from error
    except (TypeError, ValueError) as error:
        raise UsageError(f"The plan {path} is malformed: {error}.") from error
