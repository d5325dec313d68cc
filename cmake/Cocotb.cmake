# Tests in Python against a Verilated model, with cocotb. Slow, some thousand cycles per second: for
# what needs another party's view of a protocol; bulk checks belong in C++.

file(GLOB _cocotb ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/cocotb)
if(NOT _cocotb)
  message(FATAL_ERROR "cocotb is not installed in build/venv: run `make deps` first")
endif()

# cocotb talks to a model through VPI.
add_library(verilated_vpi STATIC EXCLUDE_FROM_ALL ${VERILATOR_ROOT}/include/verilated_vpi.cpp)
target_compile_options(verilated_vpi PRIVATE -w -O2)
target_link_libraries(verilated_vpi PUBLIC verilated_runtime)

# sluice_cocotb_test(NAME TOP module SOURCES a.sv ... MODULE test_x [PARAMS -GWAYS=4 ...]
#                    [DATA NAME=value ...] [TIMEOUT seconds])
#
# One CTest test NAME: the tests of MODULE.py, in the current source directory, on TOP. Only TOP's
# own signals are visible, which keeps large models fast. DATA goes into the environment.
function(sluice_cocotb_test name)
  cmake_parse_arguments(ARG "" "TOP;MODULE;TIMEOUT" "SOURCES;PARAMS;DATA" ${ARGN})
  set(dir ${CMAKE_CURRENT_BINARY_DIR}/${name}.cocotb)
  set(fast ${dir}/Vtop__ALL.cpp)
  set(slow ${dir}/Vtop__ALL__Slow.cpp)
  file(WRITE ${dir}.vlt "`verilator_config\npublic_flat_rw -module \"${ARG_TOP}\" -var \"*\"\n")
  add_custom_command(
    OUTPUT ${fast} ${slow} ${dir}/Vtop.h
    COMMAND ${CMAKE_COMMAND} -E rm -rf ${dir}
    COMMAND ${VERILATOR} --cc --vpi -O3 --assert -Wno-fatal --replication-limit 16384
            --timescale 1ns/1ps --top-module ${ARG_TOP} --prefix Vtop --Mdir ${dir} ${ARG_PARAMS}
            -I${RTL_INCLUDE} ${dir}.vlt ${ARG_SOURCES}
    COMMAND ${CMAKE_COMMAND} -DDIR=${dir} -DOUT=${fast} -DSLOW=${slow}
            -P ${PROJECT_SOURCE_DIR}/cmake/gather.cmake
    DEPENDS ${ARG_SOURCES} ${RTL_HEADERS} VERBATIM COMMENT "Verilating ${name}")
  add_executable(${name} ${fast} ${slow} ${_cocotb}/share/lib/verilator/verilator.cpp)
  target_include_directories(${name} SYSTEM PRIVATE ${dir})
  target_compile_options(${name} PRIVATE -w -O1 -g0)
  set_source_files_properties(${slow} PROPERTIES COMPILE_OPTIONS -O0)
  target_link_libraries(${name} PRIVATE verilated_vpi ${_cocotb}/libs/libcocotbvpi_verilator.so)
  set_target_properties(${name} PROPERTIES BUILD_RPATH ${_cocotb}/libs)
  add_test(NAME ${name}
    COMMAND ${PROJECT_SOURCE_DIR}/build/venv/bin/python ${PROJECT_SOURCE_DIR}/hw/dv/axi/run.py
            $<TARGET_FILE:${name}> ${ARG_TOP} ${CMAKE_CURRENT_SOURCE_DIR} ${ARG_MODULE})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 1800)
  endif()
  set_tests_properties(${name} PROPERTIES TIMEOUT ${ARG_TIMEOUT} ENVIRONMENT "${ARG_DATA}")
endfunction()
