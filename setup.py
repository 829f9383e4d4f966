"""Compiles the native kernels when a C++ compiler is there; without one the package works on PyTorch alone."""

from setuptools import Extension, setup

SOURCE = "src/semfocus/mechanisms/kernels/source"

setup(
    ext_modules=[
        Extension(
            "semfocus.mechanisms.kernels._native",
            sources=[f"{SOURCE}/kernels.cpp"],
            depends=[f"{SOURCE}/{name}" for name in ("body.inc", "problem.h", "random.h")],
            extra_compile_args=["-O3", "-std=gnu++17", "-ffp-contract=fast", "-fopenmp", "-Wno-psabi"],
            extra_link_args=["-fopenmp"],
            optional=True,
        )
    ]
)
