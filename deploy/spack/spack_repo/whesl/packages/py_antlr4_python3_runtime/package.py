from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyAntlr4Python3Runtime(PythonPackage):
    """What parsers that ANTLR 4 generates run on; Spack's own package ends at 4.10."""

    homepage = "https://www.antlr.org"
    pypi = "antlr4-python3-runtime/antlr4_python3_runtime-4.13.2.tar.gz"

    license("BSD-3-Clause")

    version("4.13.2", sha256="909b647e1d2fc2b70180ac586df3933e38919c85f98ccc656a96cd3f25ef3916")

    depends_on("python@3:", type=("build", "run"))
    depends_on("py-setuptools", type="build")

    import_modules = ["antlr4"]
