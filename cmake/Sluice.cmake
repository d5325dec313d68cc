# How every part of Sluice is built and tested.

add_library(sluice_flags INTERFACE)
target_compile_options(sluice_flags INTERFACE -Wall -Wextra -Werror -msse4.2)
target_include_directories(sluice_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                  ${PROJECT_SOURCE_DIR}/src
                                                  ${PROJECT_BINARY_DIR}/generated)

# What static checks need of a build.
add_custom_target(generated_files)

# sluice_library(NAME SOURCES a.cc ... DEPS targets ...)
function(sluice_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE sluice_flags)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
endfunction()

# sluice_test(NAME SOURCES a_test.cc ... DEPS targets ... [ARGS ...] [TIMEOUT seconds]):
# one GoogleTest program, one CTest test.
function(sluice_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;ARGS" ${ARGN})
  add_executable(${name} ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} sluice_flags GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1800)  # for what hangs: a loaded machine is slow
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
endfunction()

# sluice_bench(NAME SOURCES a_bench.cc ... DEPS targets ... [ARGS ...]): a program that `make bench`
# builds and runs, one after the other in the order of their definition.
add_custom_target(bench)
function(sluice_bench name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS;ARGS" ${ARGN})
  add_executable(${name} EXCLUDE_FROM_ALL ${ARG_SOURCES})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} sluice_flags)
  add_custom_target(run_${name} COMMAND ${name} ${ARG_ARGS} USES_TERMINAL VERBATIM)
  get_property(last GLOBAL PROPERTY SLUICE_LAST_BENCH)
  if(last)
    add_dependencies(run_${name} ${last})
  endif()
  set_property(GLOBAL PROPERTY SLUICE_LAST_BENCH run_${name})
  add_dependencies(bench run_${name})
endfunction()
