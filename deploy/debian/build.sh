#!/bin/sh
# Builds a Debian package from a wheelhouse: WHESL in /opt/whesl, its units, its module file, its manual pages.
#
#   deploy/wheelhouse/make.sh wheels && deploy/debian/build.sh wheels OUTPUT-DIRECTORY
#
# The package holds an environment of the Python that builds it (PYTHON=python3), and depends on that version:
# build it on the release that it is for. Plain dpkg-deb: no network, no debhelper. NO_DEPS=1 leaves out
# the libraries (for a look at the package's form alone).
set -eu
wheels=$(cd "${1:?"usage: build.sh WHEELS OUTPUT"}" && pwd)
output=${2:?"usage: build.sh WHEELS OUTPUT"}
python=${PYTHON:-/usr/bin/python3}
here=$(cd "$(dirname "$0")/.." && pwd)
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
minor=$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
next=$("$python" -c 'import sys; print("%d.%d" % (sys.version_info[0], sys.version_info[1] + 1))')

root=$tree/opt/whesl
mkdir -p "$tree/DEBIAN" "$tree/usr/bin" "$tree/usr/lib/systemd/system" "$tree/usr/lib/systemd/user" \
  "$tree/usr/share/doc/whesl" "$tree/usr/share/modules/modulefiles/whesl"
"$python" -m venv --without-pip "$root"
set -- --quiet --disable-pip-version-check --no-index --find-links "$wheels" --no-compile
if [ -n "${NO_DEPS:-}" ]; then set -- "$@" --no-deps whesl; else set -- "$@" -r "$wheels/requirements.txt"; fi
"${PIP_PYTHON:-$python}" -m pip --python "$root/bin/python" install "$@"
# The environment was made in another place than where it will be.
grep -rlI "$tree" "$root/bin" "$root/pyvenv.cfg" | xargs -r sed -i "s|$tree||g"
version=$(sed -n 's/^Version: //p' "$root/lib/python$minor"/site-packages/whesl-*.dist-info/METADATA)

ln -s /opt/whesl/bin/whesl "$tree/usr/bin/whesl"
cp "$here"/systemd/system/* "$tree/usr/lib/systemd/system/"
cp "$here"/systemd/user/* "$tree/usr/lib/systemd/user/"
cp "$here/modulefiles/whesl" "$tree/usr/share/modules/modulefiles/whesl/$version"
cp "$here/../LICENSE" "$tree/usr/share/doc/whesl/copyright"
if [ -d "$root/share/man" ]; then mkdir -p "$tree/usr/share/man" && cp -r "$root/share/man/." "$tree/usr/share/man/"; fi
cat >"$tree/DEBIAN/control" <<END
Package: whesl
Version: $version
Architecture: $(dpkg --print-architecture)
Maintainer: the site's administrators <root@localhost>
Depends: python3 (>= $minor~), python3 (<< $next~)
Section: admin
Priority: optional
Installed-Size: $(du -sk "$tree" | cut -f1)
Description: fault-tolerance runtime for HPC workflows
 Failures of jobs under Slurm and Flux are recovered in place, once; nodes that
 are about to fail get no jobs. Installed below /opt/whesl.
END
cat >"$tree/DEBIAN/postinst" <<'END'
#!/bin/sh
set -e
# The placement service has an account of its own and no other rights than Slurm's administrators give it.
if [ "$1" = configure ] && ! getent passwd whesl >/dev/null; then
  useradd --system --no-create-home --home-dir /var/lib/whesl --shell /usr/sbin/nologin whesl
fi
END
chmod 0755 "$tree/DEBIAN/postinst"
mkdir -p "$output"
dpkg-deb --root-owner-group -Zgzip --build "$tree" "$output/whesl_${version}_$(dpkg --print-architecture).deb"
