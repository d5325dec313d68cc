# sluice_rocksdb10: the service over RocksDB 10.4, if bench/fetch_rocksdb has got that. The library is the
# one for Java. It exports its C++, but was built without type information and for the older strings of the
# standard library, so all of Sluice that takes part is built that way once more.
set(directory ${PROJECT_SOURCE_DIR}/build/rocksdb)
if(NOT EXISTS ${directory}/librocksdb.so OR NOT EXISTS ${directory}/include OR SLUICE_SANITIZE)
  return()
endif()
set(sources)
foreach(part sluice_util sluice_table sluice_rocksdb_table sluice_merge sluice_rocksdb_job sluice_rocksdb_service)
  get_target_property(names ${part} SOURCES)
  get_target_property(in ${part} SOURCE_DIR)
  list(TRANSFORM names PREPEND ${in}/)
  list(APPEND sources ${names})
  # The options of a source are known in its own directory only.
  foreach(name ${names})
    get_source_file_property(options ${name} TARGET_DIRECTORY ${part} COMPILE_OPTIONS)
    if(options)
      set_source_files_properties(${name} PROPERTIES COMPILE_OPTIONS "${options}")
    endif()
  endforeach()
endforeach()
add_library(sluice_rocksdb10 STATIC EXCLUDE_FROM_ALL ${sources})
target_compile_definitions(sluice_rocksdb10 PUBLIC _GLIBCXX_USE_CXX11_ABI=0 FMT_HEADER_ONLY)
target_compile_options(sluice_rocksdb10 PUBLIC -fno-rtti)
target_include_directories(sluice_rocksdb10 PUBLIC ${CMAKE_CURRENT_SOURCE_DIR})
target_include_directories(sluice_rocksdb10 SYSTEM PUBLIC ${directory}/include)
# It brings a Snappy and more of other versions than ours: those come first.
target_link_libraries(sluice_rocksdb10 PUBLIC sluice_flags PkgConfig::ISAL PkgConfig::LZ4 PkgConfig::URING
  PkgConfig::ZSTD Snappy::snappy Threads::Threads ${directory}/librocksdb.so)
set_target_properties(sluice_rocksdb10 PROPERTIES POSITION_INDEPENDENT_CODE ON)
