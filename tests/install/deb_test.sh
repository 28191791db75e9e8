#!/usr/bin/env bash
# Makes the Debian packages of a build folder whose programs are built, unpacks the one of `pipeloom` and uses what is in it.
#
#   deb_test.sh BUILD     exits 77 where the tools of Debian are absent
set -euo pipefail

readonly build=$1
for tool in cpack dpkg-deb dpkg-shlibdeps; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: no $tool on this machine"; exit 77; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() { echo "FAILED: $*" >&2; exit 1; }

# ---- made of what is built: without compression it takes seconds
cpack -G DEB --config "$build/CPackConfig.cmake" -B "$work/packages" -D CPACK_DEBIAN_COMPRESSION_TYPE=none >"$work/log" 2>&1 ||
  { cat "$work/log"; fail "cpack"; }
shopt -s nullglob
packages=("$work"/packages/*.deb)
echo "${packages[@]##*/}"
debs=("$work"/packages/pipeloom_*.deb)
((${#debs[@]} == 1)) || fail "one package of pipeloom, not ${#debs[@]}"
readonly deb=${debs[0]}

# ---- what it says of itself
field() { dpkg-deb --field "$deb" "$1"; }
[[ $(field Package) == pipeloom ]] || fail "package $(field Package)"
[[ $(field Depends) == *libc6* && $(field Depends) == *libcairo2* ]] || fail "depends on $(field Depends)"
[[ $(field Architecture) == "$(dpkg --print-architecture)" ]] || fail "architecture $(field Architecture)"

# ---- what is in it
dpkg-deb -x "$deb" "$work/root"
readonly share=$work/root/usr/share
for file in bash-completion/completions/pipeloom zsh/vendor-completions/_pipeloom fish/vendor_completions.d/pipeloom.fish \
  man/man1/pipeloom.1 doc/pipeloom/copyright doc/pipeloom/examples/configs/suite.json; do
  [[ -s $share/$file ]] || fail "no usr/share/$file"
done
grep -q '^\.B check$' "$share/man/man1/pipeloom.1" || fail "the man page lacks a command"
grep -q 'microbatches' "$share/man/man1/pipeloom.1" || fail "the man page lacks an option"
[[ ! -e $work/root/usr/include ]] || fail "headers are no part of the package"
bash -c "source '$share/bash-completion/completions/pipeloom'; complete -p pipeloom" >/dev/null || fail "completion of bash"

# ---- it runs from where it was unpacked
readonly pipeloom=$work/root/usr/bin/pipeloom
[[ $("$pipeloom" --version) == "pipeloom $(field Version)" ]] || fail "version $("$pipeloom" --version), package $(field Version)"
"$pipeloom" check "$share/doc/pipeloom/examples/configs/suite.json" --junit "$work/junit.xml"
[[ -s $work/junit.xml ]] || fail "no JUnit file"

# ---- every other package is one too
for other in "${packages[@]}"; do
  dpkg-deb -x "$other" "$work/all"
  [[ -x $work/all/usr/bin/$(dpkg-deb --field "$other" Package) ]] || fail "${other##*/} has no program of its name"
done
