# shellcheck shell=bash
# What the fault tests share; quick.sh and all.sh source it.
#
#   begin NAME          a heading; what follows is about it
#   check COMMAND...    the command must succeed, or the test fails with it
#   status COMMAND...   runs the command, keeps its words in $folder/out and $folder/err and its exit status in $status
#
# Every command runs under a limit of time: what hangs is a failure too.

set -u
pipeloom=$(realpath "$1")
failing_malloc=$(realpath "${2:-none}")
[[ -x $pipeloom && -e $failing_malloc ]] || { echo "usage: $0 PIPELOOM FAILING_MALLOC" >&2; exit 2; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 2
failures=0
topic=
status=0

begin() {
  topic=$1
  printf '%s\n' "$topic"
}

check() {
  "$@" && return
  failures=$((failures + 1))
  printf 'FAILED in "%s": %s\n' "$topic" "$*" >&2
  [[ -s err ]] && head -c 600 err >&2
}

status() {
  timeout -k 5 "${patience:-60}" "$@" >out 2>err
  status=$?
}

status_is() { [[ $status == "$1" ]]; }
is_absent() { [[ ! -e $1 ]]; }
no_leftovers() { ! compgen -G "$1.??????" >/dev/null; }
says() { grep -q -- "$1" err; }
is_printable() { ! LC_ALL=C grep -q '[^[:print:][:space:]]' "$1"; }

# wait_for FILE BYTES: until the file has so many, at most 20 s
wait_for() {
  local i
  for ((i = 0; i < 2000; ++i)); do
    [[ -e $1 && $(stat -c %s "$1") -ge $2 ]] && return
    sleep 0.01
  done
  return 1
}

end() {
  if ((failures > 0)); then
    printf '%d checks failed\n' "$failures" >&2
    exit 1
  fi
  echo "all held"
}
