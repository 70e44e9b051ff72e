"""Every kernel compiles for every supported architecture, without a GPU and without local memory."""

import re
from pathlib import Path

import pytest
from machine_code import machine_code

from nsight_suite.driving import reductions
from nsight_suite.driving.build import Build, compile_source, resources
from nsight_suite.errors import SuiteError, UsageError
from nsight_suite.sources import data_root

SOURCES = sorted((data_root() / "kernels").glob("*/*.cu"))
KERNELS = {
    "row/staged.cu": ["row_divide", "row_exp", "row_max", "row_sum"],
    "row/fused.cu": ["row_softmax"],
}
# 128-bit loads and stores in the machine code of the kernels that claim them, for sm_90; those of row/tuned.cu
# and tiled/dataflow.cu are held by tests of their own. `row_softmax` has a path of single floats as well.
WIDE = {
    "pointwise/separate.cu": {"add_one": (2, 2), "square": (2, 2), "halve": (2, 2)},
    "pointwise/fused.cu": {"add_square_halve": (2, 2)},
    "row/fused.cu": {"row_softmax": (4, 4)},
    "tiled/separate.cu": {"tile_summary": (2, 0), "normalise_tiles": (2, 2)},
    "rms/local.cu": {"local_statistics": (4, 0), "local_sums": (4, 0), "local_normalise": (4, 4)},
    "rms/mega.cu": {"mega_row": (8, 8), "mega_grid": (8, 8)},
}


def in_local_memory(source: Path, architecture: str) -> list[str]:
    """The kernels of a source that need local memory: a stack frame, which holds spilled registers too."""
    return [
        kernel.name for kernel in compile_source(source, architecture).kernels if kernel.local_bytes_per_thread
    ]


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize("source", SOURCES, ids=lambda source: f"{source.parent.name}/{source.name}")
def test_no_kernel_spills(source: Path, architecture: str) -> None:
    build = compile_source(source, architecture)
    assert build.cubin.startswith(b"\x7fELF")
    assert build.kernels
    assert [kernel.name for kernel in build.kernels if kernel.local_bytes_per_thread] == []
    assert all(0 < kernel.registers_per_thread <= 255 for kernel in build.kernels)


@pytest.mark.parametrize("name", WIDE)
def test_the_machine_code_moves_128_bits_where_that_is_claimed(name: str, tmp_path: Path) -> None:
    build = compile_source(data_root() / "kernels" / name, "sm_90")
    code = machine_code(build, tmp_path)
    for kernel, least in WIDE[name].items():
        found = tuple(len(re.findall(rf"\b{kind}\.E\S*\.128", code[kernel])) for kind in ("LDG", "STG"))
        assert all(have >= want for have, want in zip(found, least, strict=True)), (kernel, found)
    if name == "rms/mega.cu":  # messages that carry all that is to be known need no fence
        assert "MEMBAR" in code["mega_grid"]
        assert not re.search(r"MEMBAR|CCTL|ATOM|RED\b", code["mega_row"])


@pytest.mark.parametrize("architecture", ["sm_80", "sm_90", "sm_100"])
@pytest.mark.parametrize(("output", "reference"), [("float32", "float64"), ("uint32", "uint32")])
def test_the_checks_compile_for_the_types_they_meet(output: str, reference: str, architecture: str) -> None:
    build = compile_source(reductions.SOURCE, architecture, reductions.options(output, reference))
    checks = ["differing", "most_negative", "not_finite", "worst_error", "worst_row_sum"]
    assert [kernel.name for kernel in build.kernels] == checks
    assert not any(kernel.local_bytes_per_thread for kernel in build.kernels)


def test_a_type_that_no_check_knows_is_named() -> None:
    with pytest.raises(ValueError, match="no check knows arrays of complex64"):
        reductions.options("complex64", "float64")


@pytest.mark.parametrize(("name", "kernels"), KERNELS.items())
def test_a_source_holds_the_kernels_that_its_experiment_declares(name: str, kernels: list[str]) -> None:
    build = compile_source(data_root() / "kernels" / name, "sm_90")
    assert [kernel.name for kernel in build.kernels] == kernels


def test_a_block_reduction_holds_one_float_per_warp_in_shared_memory() -> None:
    staged = {kernel.name: kernel for kernel in _staged().kernels}
    assert staged["row_max"].static_shared_bytes == 32 * 4
    assert staged["row_exp"].static_shared_bytes == 0


def test_a_kernel_that_spills_is_caught(tmp_path: Path) -> None:
    spilling = tmp_path / "spilling.cu"
    spilling.write_text(
        """
        extern "C" __global__ void __launch_bounds__(1024, 2) spilling(float* x) {
            float held[96];  // 32 registers are left for them
            #pragma unroll
            for (int i = 0; i < 96; ++i) held[i] = x[i * 4096 + threadIdx.x];
            __syncthreads();
            #pragma unroll
            for (int i = 0; i < 96; ++i) x[i * 4096 + threadIdx.x] = held[i] * held[95 - i];
        }
        extern "C" __global__ void modest(float* x) { x[threadIdx.x] += 1; }
        """
    )
    assert in_local_memory(spilling, "sm_90") == ["spilling"]


def test_an_array_with_a_computed_index_is_caught(tmp_path: Path) -> None:
    indexed = tmp_path / "indexed.cu"
    indexed.write_text(
        """
        extern "C" __global__ void indexed(int* x, int at) {
            int held[64];
            for (int i = 0; i < 64; ++i) held[x[i] & 63] = at + i;
            x[threadIdx.x] = held[x[threadIdx.x] & 63];
        }
        """
    )
    assert in_local_memory(indexed, "sm_90") == ["indexed"]


def test_the_same_source_gives_the_same_bytes_in_every_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each pass runs in a folder of its own; the hash says that all of them measured the same machine code."""
    first = _staged()
    monkeypatch.chdir(tmp_path)
    second = _staged()
    assert first.cubin_sha256 == second.cubin_sha256
    assert first.options == second.options
    for folder in (str(data_root()), str(tmp_path)):
        assert folder.encode() not in second.cubin + second.ptx
        assert folder not in " ".join(second.options)


def test_a_changed_header_changes_the_hash_of_the_source(tmp_path: Path) -> None:
    source, header = tmp_path / "kernel.cu", tmp_path / "shared.cuh"
    source.write_text('#include "shared.cuh"\nextern "C" __global__ void kernel(int* x) { *x = VALUE; }\n')
    header.write_text("#define VALUE 1\n")
    first = compile_source(source, "sm_90")
    header.write_text("#define VALUE 2\n")
    second = compile_source(source, "sm_90")
    assert first.source_sha256 != second.source_sha256
    assert first.cubin_sha256 != second.cubin_sha256


def test_a_source_that_does_not_compile_says_where(tmp_path: Path) -> None:
    broken = tmp_path / "broken.cu"
    broken.write_text('extern "C" __global__ void broken() { unknown(); }\n')
    with pytest.raises(SuiteError, match=r"(?s)broken\.cu does not compile.*broken\.cu\(1\).*unknown"):
        compile_source(broken, "sm_90")
    with pytest.raises(UsageError, match="Cannot read the kernel source"):
        compile_source(tmp_path / "absent.cu", "sm_90")


def test_a_log_without_resources_is_no_proof_of_absence() -> None:
    with pytest.raises(SuiteError, match="says nothing of the registers"):
        resources("ptxas info    : Compiling entry function 'kernel' for 'sm_90'\n")


def _staged() -> Build:
    return compile_source(data_root() / "kernels" / "row" / "staged.cu", "sm_90")
