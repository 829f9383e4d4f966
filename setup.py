"""Compiles the native kernels when a C++ compiler is there; without one the package works on PyTorch alone."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext
from setuptools.errors import BaseError, CCompilerError

KERNELS = "semfocus/kernels/cpu"
SOURCE = f"src/{KERNELS}/source"
OPENMP_PROGRAM = "#include <omp.h>\nint main() { return omp_get_max_threads() < 1; }\n"


class BuildKernels(build_ext):
    """Leaves out OpenMP where the compiler has none, and keeps the reason of a failure for `semfocus doctor`."""

    failure = ""

    def run(self):
        super().run()
        note = Path("src" if self.inplace else self.build_lib, KERNELS, "not_compiled.txt")
        note.unlink(missing_ok=True)
        if self.failure:
            note.parent.mkdir(parents=True, exist_ok=True)
            note.write_text(f"{self.failure}\n", encoding="utf-8")

    def build_extension(self, extension):
        if self._has_openmp():
            extension.extra_compile_args.append("-fopenmp")
            extension.extra_link_args.append("-fopenmp")
        try:
            super().build_extension(extension)
        except (BaseError, CCompilerError) as error:
            program = next(iter(getattr(self.compiler, "compiler_so_cxx", ())), "the compiler")
            outcome = re.sub(r"^Command .* returned", "returned", str(error), flags=re.DOTALL)
            self.failure = f"{program}: {outcome}"
            raise  # the extension is optional: the build goes on

    def _has_openmp(self):
        """Whether a program with OpenMP compiles and links. Without it the kernels compute with one thread."""
        with TemporaryDirectory() as folder:
            program = Path(folder, "program.cpp")
            program.write_text(OPENMP_PROGRAM)
            try:
                objects = self.compiler.compile([str(program)], folder, extra_postargs=["-fopenmp"])
                self.compiler.link_executable(
                    objects, "program", folder, extra_postargs=["-fopenmp"], target_lang="c++"
                )
            except (BaseError, CCompilerError):
                return False
        return True


setup(
    cmdclass={"build_ext": BuildKernels},
    ext_modules=[
        Extension(
            "semfocus.kernels.cpu._native",
            sources=[f"{SOURCE}/kernels.cpp"],
            depends=sorted(str(path) for path in Path(SOURCE).iterdir()),
            extra_compile_args=["-O3", "-fno-wrapv", "-std=gnu++17", "-ffp-contract=fast", "-Wno-psabi"],
            optional=True,
        )
    ],
)
