# How every part of Sluice is built and tested.

add_library(sluice_flags INTERFACE)
target_compile_options(sluice_flags INTERFACE -Wall -Wextra $<$<BOOL:${SLUICE_WERROR}>:-Werror>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  target_compile_options(sluice_flags INTERFACE -msse4.2)
endif()
target_include_directories(sluice_flags INTERFACE ${PROJECT_SOURCE_DIR}/include
                                                  ${PROJECT_SOURCE_DIR}/src
                                                  ${PROJECT_BINARY_DIR}/generated)

# What static checks need of a build.
if(SLUICE_BUILD_DEVICE)
  add_custom_target(generated_files)
endif()

# sluice_library(NAME SOURCES a.cc ... DEPS targets ...)
#
# A part of the libraries that cmake/Library.cmake puts together from the objects of parts, or of the
# command. They are for a shared library, too: nothing in it can be replaced from outside, so that
# exported functions cost what others do.
#
# Sources are compiled ten at a time, which takes a quarter of the time: what is in their unnamed
# namespaces has names of its own within a part. `-DCMAKE_UNITY_BUILD=OFF` compiles each alone.
set(SLUICE_UNITY_BUILD ON)
if(DEFINED CMAKE_UNITY_BUILD)
  set(SLUICE_UNITY_BUILD ${CMAKE_UNITY_BUILD})
endif()
function(sluice_unity_build target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${SLUICE_UNITY_BUILD} UNITY_BUILD_BATCH_SIZE 10)
endfunction()
function(sluice_library name)
  cmake_parse_arguments(ARG "" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  set_target_properties(${name} PROPERTIES
    POSITION_INDEPENDENT_CODE ON CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  sluice_unity_build(${name})
  target_compile_options(${name} PRIVATE -fno-semantic-interposition)
  if(NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  target_link_libraries(${name} PUBLIC ${ARG_DEPS} PRIVATE sluice_flags)
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include ${PROJECT_SOURCE_DIR}/src)
endfunction()

# The engine's tests: those of src, tests/engine and tests/isolation, but for what simulates large configurations of
# the unit. For builds with sanitizers (scripts/sanitize), which take too long for everything.
if(SLUICE_BUILD_TESTS)
  add_custom_target(engine_tests)
endif()
function(sluice_engine_test name)
  add_dependencies(engine_tests ${name})
  set_property(TEST ${name} APPEND PROPERTY LABELS engine)
endfunction()

# What sources of tests are compiled with.
function(sluice_test_options target)
  target_link_libraries(${target} PRIVATE sluice_fault_env sluice_flags)
  target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # A third less time to compile, and hardly more to run: what is tested is optimised. With -O1 GCC
  # takes some variables for uninitialised that are not, which it knows with -O3.
  target_compile_options(
    ${target} PRIVATE $<$<CONFIG:RelWithDebInfo>:-O1>
    $<$<AND:$<CONFIG:RelWithDebInfo>,$<CXX_COMPILER_ID:GNU>>:-Wno-maybe-uninitialized>)
  if(CMAKE_CROSSCOMPILING_EMULATOR)
    target_compile_definitions(${target} PRIVATE SLUICE_EMULATED)
  endif()
endfunction()

# sluice_test(NAME SOURCES a_test.cc ... DEPS targets ... [ARGS ...] [TIMEOUT seconds]):
# one GoogleTest program, one CTest test. Without units there are no tests that use some.
function(sluice_test name)
  cmake_parse_arguments(ARG "" "TIMEOUT" "SOURCES;DEPS;ARGS" ${ARGN})
  if(NOT SLUICE_BUILD_TESTS
     OR (NOT SLUICE_BUILD_DEVICE AND "${ARG_DEPS}" MATCHES "sluice_(tiny_)?executors"))
    return()
  endif()
  add_executable(${name} ${ARG_SOURCES})
  sluice_test_options(${name})
  sluice_unity_build(${name})
  target_link_libraries(${name} PRIVATE ${ARG_DEPS} GTest::gtest_main)
  add_test(NAME ${name} COMMAND ${name} ${ARG_ARGS})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 900)  # for what hangs: a loaded machine is slow
    if(SLUICE_SANITIZE)
      set(ARG_TIMEOUT 7200)
    endif()
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT})
  cmake_path(RELATIVE_PATH CMAKE_CURRENT_SOURCE_DIR BASE_DIRECTORY ${PROJECT_SOURCE_DIR}
             OUTPUT_VARIABLE dir)
  if(dir MATCHES "^(src|tests/engine|tests/isolation)(/|$)" AND NOT sluice_executors IN_LIST ARG_DEPS)
    sluice_engine_test(${name})
  endif()
endfunction()

# sluice_bench(NAME SOURCES a_bench.cc ... DEPS targets ... [ARGS ...]): a program that `make bench`
# builds and runs, one after the other in the order of their definition.
if(SLUICE_BUILD_BENCH)
  add_custom_target(bench)
endif()
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
