#!/usr/bin/env bash
# The whole test suite, from nothing: `bash tests/run.sh` on a fresh machine with Python 3.11 or newer.
#
# Makes environments of its own outside the tree, installs the package as its users get it, and runs
# every test; and, where Python 3.13 is found, all tests there that need no browser. Chromium comes from
# apt-get when there is none. Arguments go to pytest, on one Python: `bash tests/run.sh tests/plan -k markdown`.
set -euo pipefail
cd "$(dirname "$0")/.."

# The interpreter of a version, wherever it lies; prints nothing when there is none.
python_of() {
  local python
  for python in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
    if [ -x "$python" ] && "$python" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$python"
      return
    fi
  done
}

has_browser() { command -v chromium || command -v chromium-browser || command -v google-chrome; }

install_browser() {
  has_browser >/dev/null && return
  local sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core
}

# run_tests PYTHON [pytest's arguments]: a fresh environment, the package, the tests.
run_tests() {
  local python=$1 home="$work/$(basename "$1")-$RANDOM"
  shift
  "$python" -m venv "$home"
  "$home/bin/python" -m pip install --quiet --upgrade pip
  "$home/bin/python" -m pip install --quiet '.[test]'
  echo "── $("$home/bin/python" --version): pytest $*"
  "$home/bin/python" -P -m pytest -p no:cacheprovider "$@"
}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

first=$(python_of 3.11)
second=$(python_of 3.13)
install_browser
status=0
# Side by side, since most tests wait more than they compute. In the background, where `set -e` holds.
run_tests "${first:-python3}" "$@" &
first_part=$!
if [ $# -gt 0 ]; then
  wait "$first_part" || status=1
elif [ -n "$second" ] && [ "$second" != "$first" ]; then
  run_tests "$second" -m "not browser and not kernels and not style" >"$work/second.log" 2>&1 &
  second_part=$!
  wait "$first_part" || status=1
  wait "$second_part" || status=1
  cat "$work/second.log"
else
  wait "$first_part" || status=1
  echo "No Python 3.13 here: its part was left out."
fi
exit "$status"
