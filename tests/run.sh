#!/usr/bin/env bash
# The whole test suite, from nothing: `bash tests/run.sh` on a fresh machine with Python 3.11 or newer.
#
# Makes environments of its own outside the tree, installs the package as its users get it, and runs every
# test; where Python 3.13 is found, most tests there that need no browser, too. Chromium comes from apt-get
# when there is none. Parts of the suite run side by side, as much of it is waiting; the output of each is
# shown in one piece when it has ended. Arguments go to pytest: `bash tests/run.sh tests/plan -k markdown`.
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

# make_environment PYTHON FOLDER
make_environment() {
  "$1" -m venv "$2" && "$2/bin/python" -m pip install --quiet --disable-pip-version-check '.[test]'
}

# run_tests ENVIRONMENT [pytest's arguments]
run_tests() {
  local status=0
  "$1/bin/python" -u -P -m pytest -p no:cacheprovider "${@:2}" "${arguments[@]}" || status=$?
  # No tests: with arguments, a part may have nothing to do.
  [ "$status" = 5 ] && [ ${#arguments[@]} -gt 0 ] || return "$status"
}

# in_one_piece NAME COMMAND…: what the command prints is shown when it has ended, apart from all else.
in_one_piece() {
  local log="$work/$1.log" status=0 began=$SECONDS
  "${@:2}" >"$log" 2>&1 || status=$?
  until mkdir "$work/printing" 2>/dev/null; do sleep 0.1; done
  echo "── $1: $((SECONDS - began)) s, exit status $status"
  cat "$log"
  rm "$log"
  rmdir "$work/printing"
  return "$status"
}

# start NAME COMMAND…: in the background. `finish` waits for all that was started, and fails if any failed.
start() {
  in_one_piece "$@" &
  started+=("$!")
}
finish() {
  local job status=0
  for job in "${started[@]}"; do wait "$job" || status=1; done
  started=()
  return "$status"
}

# Ends what still runs, such as after Ctrl+C, and shows what it has printed so far.
end() {
  local job log
  for job in "${started[@]}"; do kill -- "-$job" 2>/dev/null || true; done
  for log in "$work"/*.log; do
    [ -e "$log" ] && echo "── $(basename "$log" .log): not ended" && cat "$log"
  done
  rm -rf "$work"
}

arguments=("$@")
started=()
work=$(mktemp -d)
trap end EXIT
set -m # each job gets a process group of its own, so that it can be ended as a whole

first=$(python_of 3.11)
first=${first:-python3}
second=$(python_of 3.13)
[ "$second" != "$first" ] || second=""

start "Chromium" install_browser
start "environment" make_environment "$first" "$work/first"
[ -z "$second" ] || start "environment of Python 3.13" make_environment "$second" "$work/second"
finish

start "pages" run_tests "$work/first" -m browser
start "all but pages" run_tests "$work/first" -m "not browser"
if [ -n "$second" ]; then
  start "Python 3.13" run_tests "$work/second" -m "not browser and not kernels and not style and not once"
else
  echo "No Python 3.13 here: its part was left out."
fi
finish
