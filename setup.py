"""Compiles the native kernels when a C++ compiler is there; without one the package works on PyTorch alone."""

from pathlib import Path

from setuptools import Extension, setup

SOURCE = "src/semfocus/mechanisms/kernels/source"

setup(
    ext_modules=[
        Extension(
            "semfocus.mechanisms.kernels._native",
            sources=[f"{SOURCE}/kernels.cpp"],
            depends=[str(path) for path in Path(SOURCE).iterdir()],
            extra_compile_args=[
                "-O3",
                "-fno-wrapv",
                "-std=gnu++17",
                "-ffp-contract=fast",
                "-fopenmp",
                "-Wno-psabi",
            ],
            extra_link_args=["-fopenmp"],
            optional=True,
        )
    ]
)
