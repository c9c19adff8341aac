#!/usr/bin/env bash
# Installs the Debian 12 packages that are missing for one purpose, and only those.
#
# usage: scripts/setup.sh [build|bench|fuzz|check|tidy]...     default: build
#   As root it installs; with sudo that asks nothing or on a terminal it uses sudo; otherwise it prints the command and exits 3.
#   WEFT_SKIP_SETUP=1 skips everything (the packages come from elsewhere).
set -euo pipefail

build="g++ cmake ninja-build make git ca-certificates pkg-config libyaml-cpp-dev libfmt-dev nlohmann-json3-dev libsimdjson-dev
  libpugixml-dev libcli11-dev libsqlite3-dev libcpp-httplib-dev libssl-dev libgtest-dev librapidcheck-dev"
page="nodejs npm"
bench="libbenchmark-dev"
fuzz="clang-19 libclang-rt-19-dev"
check="clang-format"
tidy="clang-tidy-19"

[ -z "${WEFT_SKIP_SETUP:-}" ] || exit 0
cd "$(dirname "$0")/.."

wanted=$build
for purpose in "${@:-build}"; do
  case $purpose in
    build) ;;
    bench) wanted+=" $bench" ;;
    fuzz) wanted+=" $fuzz" ;;
    check) wanted+=" $check" ;;
    browser) wanted+=" chromium fonts-wqy-zenhei" ;;
    tidy) wanted+=" $tidy" ;;
    *) sed -n '2,6p' "$0" >&2; exit 2 ;;
  esac
done
# Node.js from elsewhere (a newer one, say) serves as well as the packages.
if [ -f web/package.json ] && [ -z "${WEFT_NO_PAGE:-}" ] && ! { command -v node && command -v npm; } >/dev/null; then wanted+=" $page"; fi

if ! command -v dpkg-query >/dev/null; then
  echo "setup: this system is not Debian; install the packages named at the top of scripts/setup.sh, then run with WEFT_SKIP_SETUP=1" >&2
  exit 3
fi
missing=""
for package in $wanted; do
  dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null | grep -q '^.i' || missing+=" $package"
done
[ -n "$missing" ] || exit 0

as_root=""
if [ "$(id -u)" != 0 ]; then
  if command -v sudo >/dev/null && { sudo -n true 2>/dev/null || [ -t 0 ]; }; then
    as_root="sudo"
  else
    echo "setup: packages are missing and this user cannot install them. As root, run:" >&2
    echo "  apt-get update && apt-get install -y --no-install-recommends$missing" >&2
    exit 3
  fi
fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
# Shows how far apt is: a counter in place on a terminal, a line every 50 packages elsewhere.
progress() {
  local count=0 total=$1 line
  while IFS= read -r line; do
    echo "$line" >>"$log"
    case $line in
      "Setting up "*)
        count=$((count + 1))
        if [ -t 2 ]; then printf '\rsetup: %d of %s packages ' "$count" "$total" >&2
        elif [ $((count % 50)) = 0 ]; then echo "setup: $count of $total packages" >&2; fi ;;
    esac
  done
  [ ! -t 2 ] || printf '\r\033[K' >&2
}
apt() { $as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C apt-get -q -o Dpkg::Use-Pty=0 -o Acquire::Retries=3 "$@"; }

echo "setup: installing$missing" >&2
count_of() { apt install -s --no-install-recommends $missing 2>/dev/null | grep -c '^Inst ' || true; }
total=$(count_of)
if [ "$total" = 0 ]; then  # no package lists, or old ones
  echo "setup: reading the package lists (apt-get update)" >&2
  apt update >"$log" 2>&1 || { tail -5 "$log" >&2; echo "setup: apt-get update failed; is the network reachable?" >&2; exit 3; }
  total=$(count_of)
fi
install() { apt install -y --no-install-recommends $missing 2>&1 </dev/null | progress "$total"; }
if ! install; then
  # Old lists name packages that the mirror has replaced since.
  echo "setup: trying again with fresh package lists" >&2
  { apt update >>"$log" 2>&1 && install; } || { tail -15 "$log" >&2; echo "setup: could not install; the lines above say why" >&2; exit 3; }
fi
echo "setup: done" >&2
