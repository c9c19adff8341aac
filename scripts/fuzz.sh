#!/usr/bin/env bash
# Runs every fuzz target for a while; stops at the first finding and says how to repeat it.
# usage: scripts/fuzz.sh BUILD_DIRECTORY SECONDS [TARGET]...
set -euo pipefail
build=$(cd "$1" && pwd) seconds=$2
shift 2
cd "$(dirname "$0")/.."
[ $# -gt 0 ] || set -- $(ls fuzz/*_fuzz.cc | sed 's|fuzz/||; s|_fuzz\.cc||')
[ $# -gt 0 ] || { echo "fuzz: no targets in fuzz/" >&2; exit 1; }
jobs=$(( $# < $(nproc) ? $# : $(nproc) ))
echo "fuzz: $# targets, $seconds s each, $jobs at a time"
one() {
  local name=$1 build=$2 seconds=$3 log code=0
  log=$build/$name.log
  mkdir -p "$build/corpus/$name" "$build/findings" "fuzz/corpus/$name"
  # A finding is a crash, a sanitizer report, 20 s or 2 GiB for one input.
  "$build/fuzz_$name" -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -max_len=65536 -print_final_stats=1 \
    -artifact_prefix="$build/findings/$name-" "$build/corpus/$name" "fuzz/corpus/$name" >"$log" 2>&1 || code=$?
  local runs
  runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  if [ "$code" = 0 ] && [ "${runs:-0}" -gt 0 ]; then
    printf 'fuzz: %-16s %10s inputs, %s\n' "$name" "$runs" "no finding"
  else
    printf 'fuzz: %-16s FINDING (exit %s); input in %s; repeat with: %s/fuzz_%s FILE\n' "$name" "$code" "$build/findings/$name-*" "$build" "$name"
    tail -40 "$log"
    return 1
  fi
}
export -f one
printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c 'one "$@"' _ {} "$build" "$seconds"
echo "fuzz: all targets without a finding"
