# The libraries that Sluice is for others: the engine, static and shared, what proves executors and
# file systems, and the units; and how they are installed.

include(GNUInstallDirs)

# sluice_objects(VARIABLE parts ...): the objects of parts.
function(sluice_objects variable)
  list(TRANSFORM ARGN REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)
  set(${variable} ${objects} PARENT_SCOPE)
endfunction()

# sluice_public_library(NAME TYPE EXPORT name COMPONENT name OBJECTS ...)
#
# Of a shared library, what only serves development is not in its component.
function(sluice_public_library name type)
  cmake_parse_arguments(ARG "" "EXPORT;COMPONENT" "OBJECTS" ${ARGN})
  add_library(${name} ${type} ${ARG_OBJECTS})
  add_library(Sluice::${ARG_EXPORT} ALIAS ${name})
  target_include_directories(${name} INTERFACE
    $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${name} INTERFACE cxx_std_20)
  set_target_properties(${name} PROPERTIES EXPORT_NAME ${ARG_EXPORT} LINKER_LANGUAGE CXX)
  if(NOT PROJECT_IS_TOP_LEVEL)
    set_target_properties(${name} PROPERTIES EXCLUDE_FROM_ALL ON)
  endif()
  if(SLUICE_INSTALL)
    set(development ${ARG_COMPONENT})
    if(type STREQUAL SHARED)
      set(development development)
    endif()
    install(TARGETS ${name} EXPORT Sluice_${ARG_COMPONENT} COMPONENT ${ARG_COMPONENT}
            LIBRARY NAMELINK_COMPONENT ${development})
    install(EXPORT Sluice_${ARG_COMPONENT} NAMESPACE Sluice:: FILE Sluice_${ARG_COMPONENT}.cmake
            DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT ${development})
  endif()
endfunction()

set(SLUICE_CMAKE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/Sluice)
sluice_objects(objects sluice_util sluice_table sluice_log sluice_write sluice_txn sluice_mem sluice_cache
  sluice_merge sluice_task_generator sluice_tree sluice_offload sluice_compaction sluice_leveldb_dir
  sluice_db sluice_c)
foreach(kind static shared)
  string(TOUPPER ${kind} type)
  sluice_public_library(sluice_${kind} ${type} EXPORT sluice_${kind} COMPONENT ${kind}
                        OBJECTS ${objects})
  target_link_libraries(sluice_${kind} PRIVATE
    fmt::fmt PkgConfig::ISAL PkgConfig::LZ4 PkgConfig::URING PkgConfig::ZSTD Snappy::snappy Threads::Threads)
  # A program with both would have two engines in it: CMake refuses to link it.
  set_target_properties(sluice_${kind} PROPERTIES
    OUTPUT_NAME sluice INTERFACE_SLUICE_KIND ${kind} COMPATIBLE_INTERFACE_STRING SLUICE_KIND)
endforeach()
# Until 1.0 a minor version may change the binary interface, so its number is in the soname.
set_target_properties(sluice_shared PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${PROJECT_SOURCE_DIR}/cmake/exports.map)
target_link_options(sluice_shared PRIVATE LINKER:--version-script=${PROJECT_SOURCE_DIR}/cmake/exports.map)
if(BUILD_SHARED_LIBS)
  add_library(Sluice::sluice ALIAS sluice_shared)
else()
  add_library(Sluice::sluice ALIAS sluice_static)
endif()

# The others use what the shared library hides, so they are for programs with the static one.
sluice_objects(objects sluice_checks sluice_reference_merge)
sluice_public_library(sluice_conformance STATIC EXPORT conformance COMPONENT conformance
                      OBJECTS ${objects})
target_link_libraries(sluice_conformance PUBLIC sluice_static PRIVATE fmt::fmt Snappy::snappy)
if(SLUICE_BUILD_DEVICE)
  list(TRANSFORM SLUICE_CONFIGURATIONS PREPEND unit_ OUTPUT_VARIABLE models)
  sluice_objects(objects sluice_device_executor sluice_model sluice_units_by_name ${SLUICE_XRT} sluice_executors
                 ${models} verilated_runtime)
  sluice_public_library(sluice_device STATIC EXPORT device COMPONENT device OBJECTS ${objects})
  target_link_libraries(sluice_device PUBLIC sluice_static
                        PRIVATE fmt::fmt Threads::Threads ${SLUICE_XRT_LIBRARY})
endif()

if(NOT SLUICE_INSTALL)
  return()
endif()
include(CMakePackageConfigHelpers)
configure_package_config_file(${PROJECT_SOURCE_DIR}/cmake/SluiceConfig.cmake.in SluiceConfig.cmake
  INSTALL_DESTINATION ${SLUICE_CMAKE_DIR} NO_SET_AND_CHECK_MACRO)
write_basic_package_version_file(SluiceConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# pkg-config finds the prefix from where the file is: `cmake --install --prefix` may set another.
file(RELATIVE_PATH SLUICE_PC_PREFIX /prefix/${CMAKE_INSTALL_LIBDIR}/pkgconfig /prefix)
configure_file(${PROJECT_SOURCE_DIR}/cmake/sluice.pc.in sluice.pc @ONLY)

install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/sluice DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        COMPONENT development
        PATTERN device.h EXCLUDE PATTERN c_device.h EXCLUDE PATTERN conformance.h EXCLUDE)
install(FILES ${PROJECT_SOURCE_DIR}/include/sluice/conformance.h
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice COMPONENT conformance)
if(SLUICE_BUILD_DEVICE)
  install(FILES ${PROJECT_SOURCE_DIR}/include/sluice/device.h
                ${PROJECT_SOURCE_DIR}/include/sluice/c_device.h
          DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/sluice COMPONENT device)
endif()
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/SluiceConfig.cmake
              ${CMAKE_CURRENT_BINARY_DIR}/SluiceConfigVersion.cmake
        DESTINATION ${SLUICE_CMAKE_DIR} COMPONENT development)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/sluice.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT development)
