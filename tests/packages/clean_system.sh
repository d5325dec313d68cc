#!/usr/bin/env bash
# Checks the packages with lintian, and installs them on a Debian 12 made for this, where each must bring all
# that it needs. Uses what is in them, and purges them: nothing may be left.
#
#   clean_system.sh DIRECTORY_OF_PACKAGES
#
# As root, because it works in a chroot. The system comes from the mirrors that apt uses here.
set -euo pipefail
source=$(cd "$(dirname "$0")/../.." && pwd)
packages=$(cd "$1" && pwd)
root=$packages/clean_system
log=$packages/clean_system.log

say() { echo "== $*"; }
fail() { echo "$*" >&2; exit 1; }
inside() {
  chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 \
    DEBIAN_FRONTEND=noninteractive "$@"
}
quietly() { "$@" >"$log" 2>&1 || { cat "$log" >&2; fail "Failed: $*"; }; }
install() { quietly inside apt-get install -y --no-install-recommends "$@"; }
package() { (cd "$root" && printf '/%s\n' packages/"$1"_*.deb); }
purge() {
  local left
  quietly inside apt-get purge -y "$@"
  left=$(inside find / -xdev '(' -path /proc -o -path /packages -o -path /source -o -path /tmp -o -path /var/log ')' \
    -prune -o -name '*sluice*' -print)
  [[ -z $left ]] || fail "Left behind by $*: $left"
}
# expect TEXT COMMAND...: the command succeeds, and TEXT is part of what it prints.
expect() {
  local text=$1 output
  shift
  output=$("$@" 2>&1) || fail "Failed: $*: $output"
  [[ $output == *"$text"* ]] || fail "$* printed: $output"
}

version=$(sed -n 's/^project(sluice VERSION \([0-9.]*\).*/\1/p' "$source/CMakeLists.txt")
all=(libsluice0 libsluice-dev libsluice-units libsluice-rocksdb libsluice-rocksdb-dev libsluice-leveldb
  libsluice-leveldb-dev sluice-tools python3-sluice mariadb-plugin-sluice)
for name in "${all[@]}"; do
  compgen -G "$packages/${name}_$version-*.deb" >/dev/null || fail "There is no package $name"
done

say "lintian"
# Packages for Debian's own archive would have to close a bug there.
lintian --fail-on error,warning --suppress-tags initial-upload-closes-no-bugs --allow-root "$packages"/*.deb ||
  fail "lintian complains"

say "A clean system"
"$source/scripts/debian_root" "$root" --variant=apt
mkdir -p "$root/packages" "$root/source/tests/embed"
cp "$packages"/*.deb "$root/packages"
cp -r "$source/examples" "$root/source"
cp -r "$source/tests/embed/device" "$root/source/tests/embed"
if [[ -e /etc/resolv.conf ]]; then
  cp -L /etc/resolv.conf "$root/etc/resolv.conf"
fi
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
quietly inside apt-get update

say "libsluice0 by itself"
install "$(package libsluice0)"
expect libsluice.so.0.2 inside ldconfig -p
purge libsluice0

say "sluice-tools by itself"
install "$(package sluice-tools)"
expect "$version" inside sluice --version
quietly inside sluice db put --create /tmp/command key value
expect value inside sluice db get /tmp/command key
quietly inside sluice db verify /tmp/command
quietly inside sluice bench --db /tmp/bench --benchmarks fillrandom,readrandom --num 10000
quietly inside sluice unit run --executor check
purge sluice-tools

say "python3-sluice by itself"
install "$(package python3-sluice)"
expect $'runs/2 8.0 km\nruns/1 5.2 km\nruns: 2' inside python3 /source/examples/python/main.py /tmp/module
expect "$version" inside python3 -c 'import importlib.metadata as m; print(m.version("sluice"))'
[[ -n $(inside find /usr/lib/python3/dist-packages/sluice -name '*.pyc') ]] || fail "Python's files are not compiled"
purge python3-sluice

say "libsluice-rocksdb by itself, in front of a program that knows nothing of it"
install "$(package libsluice-rocksdb)" rocksdb-tools
bench=(db_bench --benchmarks=fillrandom,compact --num=20000 --write_buffer_size=200000)
expect "jobs, " inside LD_PRELOAD=libsluice_rocksdb_preload.so SLUICE_REPORT=1 "${bench[@]}" --db=/tmp/preloaded
expect "became" inside grep "sluice" /tmp/preloaded/LOG
install "$(package libsluice-units)"
expect "jobs, " inside LD_PRELOAD=libsluice_rocksdb_preload.so SLUICE_REPORT=1 SLUICE_EXECUTOR=model "${bench[@]}" \
  --db=/tmp/preloaded_model
expect "by fast20" inside grep "sluice" /tmp/preloaded_model/LOG
purge libsluice-rocksdb libsluice-units

say "libsluice-leveldb by itself, in place of Debian's LevelDB in a program that knows nothing of it"
install "$(package libsluice-leveldb)" python3-plyvel
# plyvel DIRECTORY VARIABLE=VALUE...: writes enough for compactions.
plyvel() {
  inside LD_LIBRARY_PATH="$(inside sh -c 'echo /usr/lib/*/sluice-leveldb')" SLUICE_REPORT=1 "${@:2}" python3 -c "
import plyvel
db = plyvel.DB('$1', create_if_missing=True, write_buffer_size=100000)
for i in range(20000):
    db.put(b'%d' % (i * 7919 % 10007), b'v' * 100)
assert len(list(db)) == 10007
db.close()"
}
expect "compactions, " plyvel /tmp/plyvel
expect "became" inside grep "sluice" /tmp/plyvel/LOG
install "$(package libsluice-units)"
expect "compactions, " plyvel /tmp/plyvel_model SLUICE_EXECUTOR=model
expect "by fast20" inside grep "sluice" /tmp/plyvel_model/LOG
purge libsluice-leveldb libsluice-units

say "mariadb-plugin-sluice, in the server of its version"
server=$(dpkg-deb -f "$packages"/mariadb-plugin-sluice_*.deb Depends | sed -n 's/.*mariadb-server (= \([^)]*\)).*/\1/p')
# Debian may have a newer one, and apt would take that. Nothing is to start by itself.
printf 'Package: src:mariadb\nPin: version %s\nPin-Priority: 1001\n' "$server" >"$root/etc/apt/preferences.d/mariadb"
printf '#!/bin/sh\nexit 101\n' >"$root/usr/sbin/policy-rc.d"
chmod +x "$root/usr/sbin/policy-rc.d"
install "$(package libsluice0)" "$(package mariadb-plugin-sluice)" mariadb-server
sql() { inside mariadb --batch --skip-column-names -e "$1"; }
start_server() {
  inside mkdir -p /run/mysqld
  inside chown mysql /run/mysqld
  inside mariadbd --user=mysql --skip-networking "$@" >"$log.server" 2>&1 &
  local i
  for ((i = 0; i < 600; ++i)); do
    sql 'SELECT 1' >"$log" 2>&1 && return
    sleep 0.1
  done
  cat "$log.server" >&2
  fail "The server does not start"
}
stop_server() {
  quietly inside mariadb-admin shutdown
  wait $!
}
trap 'inside mariadb-admin shutdown 2>/dev/null || true; umount "$root/proc"' EXIT
start_server
expect $'SLUICE\tYES' sql 'SHOW ENGINES'
quietly sql "CREATE DATABASE shop; CREATE TABLE shop.t (id INT PRIMARY KEY, name VARCHAR(50), KEY (name)) ENGINE=SLUICE COMPRESSION='zstd';
  INSERT INTO shop.t SELECT seq, CONCAT('name ', seq) FROM shop.seq_1_to_10000"
stop_server
start_server
expect $'10000\t50005000\t5000' sql "SELECT COUNT(*), SUM(id), (SELECT id FROM shop.t WHERE name = 'name 5000') FROM shop.t"
stop_server
install "$(package libsluice-units)"
start_server --sluice-executor=model:fast20x4
expect 10000 sql 'SELECT COUNT(*) FROM shop.t'
expect $'Sluice_units\t4' sql "SHOW STATUS LIKE 'Sluice_units'"
stop_server
# Its settings stay when it is removed. The server starts nevertheless.
quietly inside apt-get remove -y mariadb-plugin-sluice
start_server
[[ $(sql 'SELECT * FROM shop.t' 2>&1) == *"Unknown storage engine"* ]] || fail "There is a plugin after it was removed"
stop_server
trap 'umount "$root/proc"' EXIT
# Data stays, as that of every engine does.
rm -r "$root/var/lib/mysql/#sluice"
purge mariadb-plugin-sluice libsluice0 libsluice-units

say "libsluice-dev, with a compiler"
install "$(package libsluice0)" "$(package libsluice-dev)"
install cmake make g++
declare -A expected=([cpp]="runs: 1" [c]="alice: -10, bob: 10" [custom_executor]="merged "
  [device]="merged by 1 unit" [rocksdb]="made 100000 records of 300000" [leveldb]="left 0 to LevelDB")
# example DIRECTORY BUILD_SHARED_LIBS
example() {
  local name=${1##*/} build=/tmp/${1##*/}-$2
  echo "   $name, BUILD_SHARED_LIBS=$2"
  quietly inside cmake -S "/source/$1" -B "$build" -DBUILD_SHARED_LIBS="$2"
  quietly inside cmake --build "$build"
  expect "${expected[$name]}" inside "$build/example" "$build/db"
}
example examples/cpp OFF
example examples/cpp ON
example examples/c ON
example examples/custom_executor OFF
example tests/embed/device OFF
expect "libsluice.so.0.2 => /lib/" inside ldd /tmp/cpp-ON/example
install "$(package libsluice-rocksdb)" "$(package libsluice-rocksdb-dev)"
example examples/rocksdb ON
install "$(package libsluice-leveldb)" "$(package libsluice-leveldb-dev)"
example examples/leveldb ON
# shellcheck disable=SC2016
quietly inside sh -c 'c++ -std=c++20 /source/examples/cpp/main.cc $(pkg-config --cflags --libs sluice) -o /tmp/linked'
expect "${expected[cpp]}" inside /tmp/linked /tmp/linked-db

say "All of them at once"
install "$(package sluice-tools)" "$(package python3-sluice)" "$(package mariadb-plugin-sluice)"
expect "$version" inside sluice --version
purge "${all[@]}"

umount "$root/proc"
trap - EXIT
rm -rf "$root" "$log" "$log.server"
echo "The packages passed"
