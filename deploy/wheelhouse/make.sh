#!/bin/sh
# Makes a wheelhouse: WHESL and all that it needs as wheels, and an installer for machines without internet.
#
#   deploy/wheelhouse/make.sh DIRECTORY [EXTRAS]      EXTRAS: predict,metrics by default; "" for none
#
# Run it where packages can be loaded, with the Python that the other machines have (PYTHON=python3.11): wheels
# are for one version and one kind of processor. There: sh DIRECTORY/install.sh /opt/whesl
set -eu
target=${1:?"usage: make.sh DIRECTORY [EXTRAS]"}
extras=${2-predict,metrics}
python=${PYTHON:-python3}
source=$(cd "$(dirname "$0")/../.." && pwd)
mkdir -p "$target"
"$python" -m pip wheel --quiet --wheel-dir "$target" "$source${extras:+[$extras]}"
printf '%s\n' "whesl${extras:+[$extras]}" >"$target/requirements.txt"
cat >"$target/install.sh" <<'END'
#!/bin/sh
# Installs WHESL from the wheels beside this file, without any network: sh install.sh /opt/whesl
# PATH gets DIRECTORY/commands, which has whesl alone. ROOT_ALONE=1: no other user is to call it.
set -eu
target=${1:?"usage: install.sh DIRECTORY"}
here=$(cd "$(dirname "$0")" && pwd)
python=${PYTHON:-python3}
# The environment keeps a link to this Python: other users must be able to reach it.
closed=$("$python" -c '
import os, stat, sys
for path in {os.path.realpath(sys.executable), os.path.dirname(os.path.realpath(os.__file__))}:
    while True:
        if not os.stat(path).st_mode & stat.S_IXOTH:
            print(path)
        if path == os.path.dirname(path):
            break
        path = os.path.dirname(path)
')
if [ -n "$closed" ] && [ "$(id -u)" = 0 ] && [ -z "${ROOT_ALONE:-}" ]; then
  echo "install.sh: other users cannot reach $("$python" -c 'import sys; print(sys.executable)'):" $closed >&2
  echo "  hint: PYTHON=/usr/bin/python3 sh install.sh $target, or ROOT_ALONE=1 for root alone" >&2
  exit 1
fi
"$python" -m venv "$target"
"$target/bin/python" -m pip install --quiet --disable-pip-version-check --no-index --find-links "$here" \
  --requirement "$here/requirements.txt"
mkdir -p "$target/commands"
ln -sfn ../bin/whesl "$target/commands/whesl"
"$target/bin/whesl" --version
END
(cd "$target" && sha256sum ./*.whl >SHA256SUMS)
echo "$(ls "$target" | grep -c '\.whl$') wheels in $target, for $("$python" --version)"
