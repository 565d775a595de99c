"""The kernel matrix: each ipykernel line that behaves differently when a click arrives."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness import unavailable
from harness.kernelspecs import ipykernel_spec
from harness.wire import Frontend

RELEASES = ("6.31", "7.3", "7.4")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.kernels)


@pytest.fixture(scope="session")
def matrix_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    yield tmp_path_factory.mktemp("environments")


@pytest.fixture(scope="session", params=RELEASES)
def ipykernel(request: pytest.FixtureRequest, matrix_folder: Path) -> str:
    """The kernelspec name of one ipykernel release; a test that uses it runs once for each of them.
    The name is `ipykernel-` and the release."""
    try:
        return ipykernel_spec(request.param, matrix_folder)
    except (subprocess.SubprocessError, OSError) as error:
        unavailable(f"ipykernel {request.param} cannot be installed: {error}")


@pytest.fixture
def matrix_kernel(ipykernel: str, start_kernel: Callable[..., Frontend]) -> Frontend:
    """A fresh kernel of each ipykernel release, with one page on it."""
    return start_kernel(ipykernel)
