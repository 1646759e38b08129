"""Spack package of WHESL, for Spack 1.0 and newer: spack repo add CHECKOUT/deploy/spack/spack_repo/whesl."""

import pathlib

from spack.package import *
from spack_repo.builtin.build_systems.python import PythonPackage

# The checkout that this file is in.
CHECKOUT = pathlib.Path(__file__).resolve().parents[6]


class Whesl(PythonPackage):
    """Fault-tolerance runtime for HPC workflows: failures recovered in place, once."""

    homepage = "https://pypi.org/project/whesl/"
    git = f"file://{CHECKOUT}"

    license("Apache-2.0")

    version("main", branch="main")

    variant("predict", default=True, description="Predictors and placement policies")
    variant("metrics", default=True, description="Figures for Prometheus")

    depends_on("python@3.10:", type=("build", "run"))
    depends_on("py-hatchling@1.24:", type="build")
    depends_on("py-antlr4-python3-runtime@4.13", type=("build", "run"))
    depends_on("py-click@8.1:", type=("build", "run"))
    depends_on("py-cloudpickle@3:", type=("build", "run"))
    depends_on("py-google-re2@1.1:", type=("build", "run"))
    depends_on("py-inotify-simple@1.3:", type=("build", "run"))
    depends_on("py-msgspec@0.18.6:", type=("build", "run"))
    depends_on("py-psutil@5.9:", type=("build", "run"))
    depends_on("py-pyyaml@6:", type=("build", "run"))
    depends_on("py-pyzmq@26:", type=("build", "run"))
    depends_on("py-rich@13.7:", type=("build", "run"))
    depends_on("py-ruamel-yaml@0.18:", type=("build", "run"))
    depends_on("py-tree-sitter@0.24:", type=("build", "run"))
    depends_on("py-tree-sitter-bash@0.23:", type=("build", "run"))

    with when("+predict"):
        depends_on("py-numpy@1.26:", type=("build", "run"))
        depends_on("py-scipy@1.11:", type=("build", "run"))
        depends_on("py-xgboost@2.1:", type=("build", "run"))
    depends_on("py-tomli@2:", when="^python@:3.10", type=("build", "run"))
    depends_on("py-prometheus-client@0.20:", when="+metrics", type=("build", "run"))

    import_modules = ["whesl"]
