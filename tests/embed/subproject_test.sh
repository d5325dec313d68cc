#!/usr/bin/env bash
# The engine as part of another project: subproject_test.sh SOURCE SCRATCH CC CXX
#
# Nothing of what only tests, tools and units need may be looked for. What was built stays in SCRATCH,
# so that only the first run takes a minute.
set -euo pipefail
source=$1 scratch=$2
export CC=$3 CXX=$4
mkdir -p "$scratch"
cd "$scratch"
cat >CMakeLists.txt <<END
cmake_minimum_required(VERSION 3.25)
project(parent LANGUAGES C CXX)
foreach(package GTest CLI11 leveldb)
  set(CMAKE_DISABLE_FIND_PACKAGE_\${package} ON)
endforeach()
add_subdirectory($source sluice)
if(DEFINED CACHE{LEVELDB_LIBRARY} OR TARGET verilated_runtime OR TARGET bench)
  message(FATAL_ERROR "It is more than the engine")
endif()
add_executable(example $source/examples/cpp/main.cc)
target_link_libraries(example PRIVATE Sluice::sluice)
END
launcher=()
command -v ccache >/dev/null && launcher=(-DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
cmake -S . -B build "${launcher[@]}" --log-level=WARNING >/dev/null
cmake --build build -j 2 >build.log || { cat build.log >&2; exit 1; }
rm -rf db
build/example db | grep -F "runs: 1"
