from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage


class PyInotifySimple(PythonPackage):
    """A thin wrapper around Linux' inotify."""

    homepage = "https://github.com/chrisjbillington/inotify_simple"
    pypi = "inotify_simple/inotify_simple-1.3.5.tar.gz"

    license("BSD-2-Clause")

    version("1.3.5", sha256="8440ffe49c4ae81a8df57c1ae1eb4b6bfa7acb830099bfb3e305b383005cc128")

    depends_on("python@3:", type=("build", "run"))
    depends_on("py-setuptools", type="build")
