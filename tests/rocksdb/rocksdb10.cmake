# The plugin over RocksDB 10.4, if bench/fetch_rocksdb has got that: the same source, tests of the same
# kind. The library is the one for Java. It exports its C++, but was built without type information and
# for the older strings of the standard library, so all of Sluice that takes part is built that way once
# more; GoogleTest, too, from Debian's sources.
set(directory ${PROJECT_SOURCE_DIR}/build/rocksdb)
set(googletest /usr/src/googletest/googletest)
if(NOT EXISTS ${directory}/librocksdb.so OR NOT EXISTS ${directory}/include OR NOT EXISTS ${googletest}
   OR SLUICE_SANITIZE)
  return()
endif()
set(sources job_text_test.cc options_test.cc real_rocksdb.cc service_test.cc table_interop_test.cc twins.cc
  ${googletest}/src/gtest-all.cc ${googletest}/src/gtest_main.cc)
foreach(part sluice_util sluice_table sluice_rocksdb_table sluice_merge sluice_rocksdb_job sluice_rocksdb_service)
  get_target_property(names ${part} SOURCES)
  get_target_property(in ${part} SOURCE_DIR)
  list(TRANSFORM names PREPEND ${in}/)
  list(APPEND sources ${names})
endforeach()
add_executable(rocksdb10_test ${sources})
target_compile_definitions(rocksdb10_test PRIVATE _GLIBCXX_USE_CXX11_ABI=0 FMT_HEADER_ONLY GTEST_HAS_RTTI=0)
target_compile_options(rocksdb10_test PRIVATE -fno-rtti)
target_include_directories(rocksdb10_test PRIVATE ${PROJECT_SOURCE_DIR}/plugin/rocksdb ${PROJECT_SOURCE_DIR}/tests)
target_include_directories(rocksdb10_test SYSTEM PRIVATE
  ${directory}/include ${googletest} ${googletest}/include)
# It brings a Snappy and more of other versions than ours: those come first.
target_link_libraries(rocksdb10_test PRIVATE sluice_flags PkgConfig::ISAL PkgConfig::LZ4 PkgConfig::URING
  PkgConfig::ZSTD Snappy::snappy Threads::Threads ${directory}/librocksdb.so)
set_target_properties(rocksdb10_test PROPERTIES BUILD_RPATH ${directory})
add_test(NAME rocksdb10_test COMMAND rocksdb10_test)
set_tests_properties(rocksdb10_test PROPERTIES TIMEOUT 1800)
