#!/usr/bin/env bash
# demo_db_test.sh SLUICE_DEMO_DB SLUICE SLUICE_DEMO_LOAD: the demo's judges accept what is right, before
# and after a compaction or an import, and nothing else.
set -u
demo_db=$1
sluice=$2
demo_load=$3
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

# expect EXIT_CODE COMMAND...
expect() {
  local wanted=$1
  shift
  "$@" >"$dir/out" 2>"$dir/err"
  local got=$?
  if ((got != wanted)); then
    echo "FAILED: exit code $got, not $wanted: $*"
    cat "$dir/out" "$dir/err"
    exit 1
  fi
}

expect 0 "$demo_db" make "$dir/db" --expected "$dir/expected" --mib 1 --seed 1
expect 0 "$demo_db" make "$dir/other" --expected "$dir/other-expected" --mib 1 --seed 2
expect 0 "$demo_db" measure "$dir/db" --json
grep -q '"mb_per_second":' "$dir/out" || { echo "FAILED: measure says nothing"; exit 1; }
expect 0 "$sluice" compact "$dir/db" --executor cpu
expect 0 "$demo_db" verify "$dir/db" --expected "$dir/expected"
expect 0 "$demo_db" verify "$dir/other" --expected "$dir/other-expected"
expect 1 "$demo_db" verify "$dir/db" --expected "$dir/other-expected"
grep -q 'key user' "$dir/err" || { echo "FAILED: verify names no key"; exit 1; }
head -c 1000 "$dir/expected" >"$dir/cut"
expect 1 "$demo_db" verify "$dir/db" --expected "$dir/cut"
load=("$demo_load" "$dir/engine" --executor cpu --operations 5000 --expected)
expect 0 "$sluice" db import-leveldb "$dir/db" "$dir/engine" --create
expect 1 "${load[@]}" "$dir/other-expected"
grep -q 'key user' "$dir/err" || { echo "FAILED: the load names no key"; exit 1; }
expect 0 "${load[@]}" "$dir/expected" --json
grep -q '"puts":' "$dir/out" || { echo "FAILED: the load says nothing"; exit 1; }
expect 1 "${load[@]}" "$dir/expected" # of before the load
expect 2 "$demo_load"
expect 1 "$demo_db" make "$dir/db" --expected "$dir/expected" # exists
expect 2 "$demo_db"
expect 2 "$demo_db" verify "$dir/db"
echo "PASSED"
