# The tests of the service once more, over RocksDB 10.4; GoogleTest, too, from Debian's sources.
set(googletest /usr/src/googletest/googletest)
if(NOT TARGET sluice_rocksdb10 OR NOT EXISTS ${googletest})
  return()
endif()
add_executable(rocksdb10_test
  job_text_test.cc options_test.cc random_databases.cc real_rocksdb.cc
  service_test.cc table_interop_test.cc twins.cc
  ${googletest}/src/gtest-all.cc ${googletest}/src/gtest_main.cc)
target_compile_definitions(rocksdb10_test PRIVATE GTEST_HAS_RTTI=0)
target_include_directories(rocksdb10_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
target_include_directories(rocksdb10_test SYSTEM PRIVATE ${googletest} ${googletest}/include)
target_link_libraries(rocksdb10_test PRIVATE sluice_rocksdb10)
set_target_properties(rocksdb10_test PROPERTIES BUILD_RPATH ${PROJECT_SOURCE_DIR}/build/rocksdb)
add_test(NAME rocksdb10_test COMMAND rocksdb10_test)
set_tests_properties(rocksdb10_test PROPERTIES TIMEOUT 1800)
