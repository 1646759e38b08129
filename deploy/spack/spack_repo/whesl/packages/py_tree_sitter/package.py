from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyTreeSitter(PythonPackage):
    """Python bindings of the parsers that tree-sitter makes."""

    homepage = "https://github.com/tree-sitter/py-tree-sitter"
    pypi = "tree-sitter/tree_sitter-0.26.1.tar.gz"

    license("MIT")

    version("0.26.1", sha256="9919cbaf02d17fa9a4cd0e6da496aecf901b758e6eacf122eee393e3ef08aacd")

    depends_on("c", type="build")
    depends_on("python@3.10:", type=("build", "link", "run"))
    depends_on("py-setuptools", type="build")
