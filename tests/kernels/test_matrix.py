"""The ground the other tests in this folder stand on: each kernel runs the package."""

from harness.wire import Frontend


def test_each_kernel_is_its_release_and_has_the_package(ipykernel: str, matrix_kernel: Frontend) -> None:
    matrix_kernel.run("import ipykernel, acp_notebook")
    assert matrix_kernel.value("ipykernel.__version__").startswith(ipykernel.removeprefix("ipykernel-"))
