#!/usr/bin/env bash
# Installs the library, and builds and runs the examples with it, but for Python's and LevelDB's:
#   embed_test.sh SOURCE BUILD SCRATCH CC CXX rocksdb=[sluice_rocksdb_shared] [sluice_device]
set -euo pipefail
source=$1 build=$2 scratch=$3 rocksdb=${6#rocksdb=} device=${7-}
export CC=$4 CXX=$5
rm -rf "$scratch"
mkdir -p "$scratch"
cd "$scratch"
prefix=$scratch/prefix

say() { echo "== $*"; }
# run PROGRAM EXPECTED: on a database of its own; EXPECTED is part of what it prints.
run() {
  local output
  rm -rf db
  output=$("$1" db)
  grep -qF -- "$2" <<<"$output" || { echo "$1 printed: $output" >&2; exit 1; }
}
declare -A expected=([cpp]="runs: 1" [c]="alice: -10, bob: 10" [custom_executor]="merged "
  [device]="merged by 1 unit" [rocksdb]="made 100000 records of 300000 in 1 jobs")
# cmake_example DIRECTORY OUT ARGUMENTS...
cmake_example() {
  local directory=$1 out=$2
  shift 2
  cmake -S "$source/$directory" -B "$out" "$@" --log-level=WARNING >/dev/null
  cmake --build "$out" >"$out.log" || { cat "$out.log" >&2; exit 1; }
  run "$out/example" "${expected[${directory##*/}]}"
}

say "install"
for component in static shared conformance development ${rocksdb:+rocksdb rocksdb_development} ${device:+device}; do
  cmake --install "$build" --prefix "$prefix" --component $component >/dev/null
done

for name in cpp c custom_executor; do
  say "find_package: $name"
  cmake_example "examples/$name" "$name" -DCMAKE_PREFIX_PATH="$prefix"
done
if [[ -n $device ]]; then
  say "find_package: units"
  cmake_example tests/embed/device device -DCMAKE_PREFIX_PATH="$prefix"
fi
if [[ -n $rocksdb ]]; then
  say "the plugin for RocksDB, linked and preloaded"
  cmake_example examples/rocksdb rocksdb -DCMAKE_PREFIX_PATH="$prefix"
  preload=$(find "$prefix" -name libsluice_rocksdb_preload.so)
  report=$(LD_PRELOAD=$preload SLUICE_REPORT=1 rocksdb/example db 2>&1)
  ! grep "^sluice: " <<<"$report" || { echo "Preloaded beside a service of its own: $report" >&2; exit 1; }
  # What the program does without Sluice: its own service is not linked.
  report=$(LD_PRELOAD=$preload SLUICE_REPORT=1 "$build/tests/rocksdb/rocksdb_program" plain preloaded 2>&1)
  grep -q "^sluice: 1 jobs" <<<"$report" || { echo "Preloaded: $report" >&2; exit 1; }
fi
say "find_package: cpp with the shared library"
cmake_example examples/cpp cpp_shared -DCMAKE_PREFIX_PATH="$prefix" -DBUILD_SHARED_LIBS=ON
libraries=$(ldd cpp_shared/example)  # not in a pipe: grep -q ends early, and ldd would die of SIGPIPE
grep -q "$prefix.*libsluice.so" <<<"$libraries" || { echo "Not shared: $libraries" >&2; exit 1; }
say "find_package: a version and a component that are not there"
for wanted in "0.1" "0.3" "0.2 COMPONENTS card"; do
  mkdir -p refused
  printf 'cmake_minimum_required(VERSION 3.25)\nproject(refused LANGUAGES C CXX)\nfind_package(Sluice %s REQUIRED)\n' \
    "$wanted" >refused/CMakeLists.txt
  if cmake -S refused -B refused/build -DCMAKE_PREFIX_PATH="$prefix" >/dev/null 2>&1; then
    echo "find_package(Sluice $wanted) found one" >&2
    exit 1
  fi
done
say "a program with both libraries is refused"
cat >refused/CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.25)
project(refused LANGUAGES C CXX)
find_package(Sluice 0.2 REQUIRED COMPONENTS conformance)
file(WRITE ${CMAKE_BINARY_DIR}/main.cc "int main() {}")
add_executable(refused ${CMAKE_BINARY_DIR}/main.cc)
target_link_libraries(refused Sluice::sluice_shared Sluice::conformance)
END
if cmake -S refused -B refused/build -DCMAKE_PREFIX_PATH="$prefix" >refused.log 2>&1; then
  echo "Two engines in one program" >&2
  exit 1
fi
grep -q SLUICE_KIND refused.log || { cat refused.log >&2; exit 1; }

libdir=$(dirname "$(find "$prefix" -name sluice.pc)")/..
export PKG_CONFIG_PATH=$libdir/pkgconfig
say "pkg-config: the shared library"
read -ra flags < <(pkg-config --cflags --libs sluice)
"$CXX" -std=c++20 "$source/examples/cpp/main.cc" "${flags[@]}" -o cpp_pc
"$CC" -std=c11 -Wall -Werror "$source/examples/c/main.c" "${flags[@]}" -o c_pc
export LD_LIBRARY_PATH=$libdir
run ./cpp_pc "${expected[cpp]}"
run ./c_pc "${expected[c]}"
unset LD_LIBRARY_PATH
say "pkg-config --static: from C, without the shared library"
rm "$libdir"/libsluice.so*
read -ra flags < <(pkg-config --static --cflags --libs sluice)
"$CC" -std=c11 "$source/examples/c/main.c" "${flags[@]}" -o c_static
run ./c_static "${expected[c]}"

rm -rf "$scratch"
echo "embed_test passed"
