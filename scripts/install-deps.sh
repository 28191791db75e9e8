#!/usr/bin/env bash
# Installs the packages that Pipeloom needs, on Debian 12, Ubuntu 24.04 and their relatives. Only missing packages are
# installed; when none is missing the script prints nothing and changes nothing.
#
#   scripts/install-deps.sh [GROUP...]      groups: build (the default), test and python (build included), ci (all of these), wasm (by itself)
#
# Set PIPELOOM_SKIP_DEPS=1 to skip it, for example where the packages come from elsewhere.
set -euo pipefail

readonly build_packages=(
  g++ cmake ninja-build pkg-config
  libboost-dev libcairo2-dev libcli11-dev libcpp-httplib-dev libfmt-dev libopenblas-dev libsqlite3-dev nlohmann-json3-dev zlib1g-dev
  fonts-dejavu-core fonts-inter libegl-dev libgl1-mesa-dri libglfw3-dev libimgui-dev libopengl-dev
)
readonly wasm_packages=(cmake emscripten libboost-dev libfmt-dev ninja-build nlohmann-json3-dev)
readonly test_packages=(catch2 iproute2 munge openmpi-bin python3 slurm-wlm xdotool xvfb)
readonly python_packages=(python3-dev python3-venv)
readonly ci_packages=(ccache chromium clang clang-format clang-tidy libbenchmark-dev libxml2-utils python3-jsonschema python3-yaml shellcheck)

say() { printf 'install-deps: %s\n' "$*" >&2; }

# The sanitizer and fuzzer runtimes are packaged per clang version; this is the version that "clang" means here.
clang_runtime() {
  local version
  version=$(apt-cache depends clang | sed -n 's/^ *Depends: clang-\([0-9][0-9]*\)$/\1/p' | head -n 1)
  printf 'libclang-rt-%s-dev' "${version:-14}"
}

is_installed() {
  [[ $(dpkg-query --show --showformat='${db:Status-Status}' "$1" 2>/dev/null) == installed ]]
}

wanted_packages() {
  local group
  for group in "${@:-build}"; do
    case $group in
      build) printf '%s\n' "${build_packages[@]}" ;;
      test) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" ;;
      python) printf '%s\n' "${build_packages[@]}" "${python_packages[@]}" ;;
      wasm) printf '%s\n' "${wasm_packages[@]}" ;;
      ci) printf '%s\n' "${build_packages[@]}" "${test_packages[@]}" "${python_packages[@]}" "${ci_packages[@]}" "$(clang_runtime)" ;;
      *)
        say "unknown group '$group'; groups are build, test, python, ci and wasm"
        return 2
        ;;
    esac
  done
}

install() {
  local -a as_root=()
  if ((EUID != 0)); then
    if ! command -v sudo >/dev/null; then
      say "missing packages: $*"
      say "neither root nor sudo; ask an administrator to run: apt-get install $*"
      return 1
    fi
    as_root=(sudo)
  fi
  say "installing $*"
  local log
  log=$(mktemp)
  if ! { "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -q &&
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "$@"; } \
    >"$log" 2>&1; then
    cat "$log" >&2
    rm -f "$log"
    say "apt-get failed, see above; the packages wanted are: $*"
    return 1
  fi
  rm -f "$log"
}

main() {
  [[ ${PIPELOOM_SKIP_DEPS:-} != 1 ]] || return 0
  if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
    say "no apt-get here. Install by your own means: a C++20 compiler, CMake 3.25, Ninja, pkg-config, Boost 1.74"
    say "(headers), cairo, CLI11 2.1, fmt, nlohmann_json 3.11, SQLite 3, zlib, OpenBLAS and cpp-httplib (optional); for the window Dear ImGui (its pkg-config file), GLFW 3.3,"
    say "OpenGL, EGL, DejaVu Sans and Inter (optional); for the tests Catch2, python3, Xvfb, xdotool, Open MPI, Slurm and munge;"
    say "for pages (docs/browser.md) emscripten 3.1."
    say "Then run again with PIPELOOM_SKIP_DEPS=1."
    return 1
  fi
  local list package
  list=$(wanted_packages "$@")
  local -a missing=()
  for package in $list; do
    is_installed "$package" || missing+=("$package")
  done
  ((${#missing[@]} == 0)) || install "${missing[@]}"
}

main "$@"
