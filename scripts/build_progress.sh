# shellcheck shell=bash
# Sourced by run.sh and test.sh.

# Reads the output of ninja and writes the progress of the build to standard error: on a terminal one line that is kept up to date, else a plain
# line every ten percent. Silent where there is next to nothing to build.
build_progress() {
  local line step total left percent shown=0 begin=$SECONDS width=${COLUMNS:-80} text
  local -r few=5
  while IFS= read -r line; do
    [[ $line =~ ^\[([0-9]+)/([0-9]+)\]\ (.*) ]] || continue
    step=${BASH_REMATCH[1]} total=${BASH_REMATCH[2]}
    ((step > 0 && total > few)) || continue
    percent=$((100 * step / total))
    left=$(((SECONDS - begin) * (total - step) / step))
    printf -v text 'build: %d %%, step %d of %d, about %d:%02d left' "$percent" "$step" "$total" $((left / 60)) $((left % 60))
    if [[ -t 2 ]]; then
      text+="  ${BASH_REMATCH[3]##*/}"
      printf '\r\033[K%s' "${text:0:width-1}" >&2
    elif ((percent >= shown + 10)); then
      shown=$((percent / 10 * 10))
      printf '%s\n' "$text" >&2
    fi
  done
  [[ ! -t 2 ]] || printf '\r\033[K' >&2
}
