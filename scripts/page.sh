#!/usr/bin/env bash
# Builds the web page (web/dist) that cmake embeds into the binary, when its sources changed. Without it the binary works, only the page is
# missing; so a failure is said clearly and is not fatal. WEFT_NO_PAGE=1 skips it, WEFT_NEED_PAGE=1 makes a failure fatal.
set -euo pipefail
cd "$(dirname "$0")/.."
[ -f web/package.json ] && [ -z "${WEFT_NO_PAGE:-}" ] || exit 0

stamp=web/node_modules/.weft-built
sum=$(find web -path web/node_modules -prune -o -path web/dist -prune -o -type f -print0 | LC_ALL=C sort -z | xargs -0 sha256sum | sha256sum | cut -d' ' -f1)
if [ -f web/dist/index.html ] && [ "$(cat "$stamp" 2>/dev/null)" = "$sum" ]; then exit 0; fi

log=$(mktemp)
trap 'rm -f "$log"' EXIT
failed() {
  tail -20 "$log" >&2
  echo "page: $1. The binary will work without its web page." >&2
  echo "page: to try again: (cd web && npm ci && npm run build); to go without: WEFT_NO_PAGE=1 make ..." >&2
  [ -z "${WEFT_NEED_PAGE:-}" ] || exit 3
  exit 0
}
command -v npm >/dev/null || failed "npm is not installed"
locked=web/node_modules/.weft-locked
want=$(sha256sum web/package-lock.json web/package.json 2>/dev/null | sha256sum | cut -d' ' -f1)
if [ "$(cat "$locked" 2>/dev/null)" != "$want" ]; then
  echo "page: npm ci ..." >&2
  (cd web && npm ci --no-audit --no-fund --loglevel=error) >"$log" 2>&1 || failed "npm ci failed"
  echo "$want" >"$locked"
fi
rm -rf web/dist  # old hashed names would be embedded too
echo "page: npm run build ..." >&2
(cd web && npm run build) >"$log" 2>&1 || failed "npm run build failed"
[ -f web/dist/index.html ] || failed "npm run build left no web/dist/index.html"
echo "$sum" >"$stamp"
