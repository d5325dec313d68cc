# Debian packages, by CPack: `make packages`. Each is a group of what is installed, and each brings its
# copyright and changelog; what it needs to run, dpkg-shlibdeps finds.

find_program(GZIP gzip REQUIRED)
set(templates ${PROJECT_SOURCE_DIR}/cmake/packages)
set(documents ${PROJECT_BINARY_DIR}/package_documents)

# Who packages, and when: DEBFULLNAME and DEBEMAIL, as Debian's tools have it, or the last commit.
execute_process(COMMAND git log -1 "--format=%an;%ae;%aD" WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
                OUTPUT_VARIABLE commit OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY)
list(GET commit 0 name)
list(GET commit 1 email)
list(GET commit 2 PACKAGE_DATE)
if(DEFINED ENV{DEBFULLNAME})
  set(name $ENV{DEBFULLNAME})
endif()
if(DEFINED ENV{DEBEMAIL})
  set(email $ENV{DEBEMAIL})
endif()
set(PACKAGE_MAINTAINER "${name} <${email}>")

# sluice_package(NAME SECTION section SYNOPSIS line DESCRIPTION text COMPONENTS ... LICENSES files ...
#                [DEPENDS ...] [SUGGESTS ...] [CONTROL files ...])
#
# LICENSES: of what others wrote and is compiled in. DESCRIPTION: in lines of less than 80 characters.
function(sluice_package name)
  cmake_parse_arguments(ARG "" "SECTION;SYNOPSIS;DESCRIPTION"
                        "COMPONENTS;LICENSES;DEPENDS;SUGGESTS;CONTROL" ${ARGN})
  string(TOUPPER ${name} upper)
  set(directory ${documents}/${name})
  configure_file(${templates}/copyright.in ${directory}/copyright @ONLY)
  foreach(file ${ARG_LICENSES})
    file(READ ${file} text)
    cmake_path(GET file PARENT_PATH from)
    string(REPLACE "${PROJECT_SOURCE_DIR}/" "" from ${from})
    file(APPEND ${directory}/copyright "\n--- Compiled in, from ${from}:\n\n${text}")
  endforeach()
  configure_file(${templates}/changelog.in ${directory}/changelog.Debian @ONLY)
  configure_file(${PROJECT_SOURCE_DIR}/CHANGELOG.md ${directory}/changelog COPYONLY)
  execute_process(COMMAND ${GZIP} -9nf changelog.Debian changelog WORKING_DIRECTORY ${directory}
                  COMMAND_ERROR_IS_FATAL ANY)
  list(GET ARG_COMPONENTS 0 first)
  install(DIRECTORY ${directory} DESTINATION ${CMAKE_INSTALL_DATADIR}/doc COMPONENT ${first})
  if(EXISTS ${templates}/${name}.lintian-overrides)
    install(FILES ${templates}/${name}.lintian-overrides RENAME ${name} COMPONENT ${first}
            DESTINATION ${CMAKE_INSTALL_DATADIR}/lintian/overrides)
  endif()

  foreach(component ${ARG_COMPONENTS})
    string(TOUPPER ${component} component)
    set(CPACK_COMPONENT_${component}_GROUP ${name} PARENT_SCOPE)
  endforeach()
  list(JOIN ARG_DEPENDS ", " depends)
  list(JOIN ARG_SUGGESTS ", " suggests)
  set(CPACK_DEBIAN_${upper}_PACKAGE_NAME ${name} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_FILE_NAME DEB-DEFAULT PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SECTION ${ARG_SECTION} PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_DESCRIPTION "${ARG_SYNOPSIS}\n${ARG_DESCRIPTION}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_DEPENDS "${depends}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_SUGGESTS "${suggests}" PARENT_SCOPE)
  set(CPACK_DEBIAN_${upper}_PACKAGE_CONTROL_EXTRA "${ARG_CONTROL}" PARENT_SCOPE)
  set(CPACK_COMPONENTS_ALL ${CPACK_COMPONENTS_ALL} ${ARG_COMPONENTS} PARENT_SCOPE)
endfunction()

set(about "Sluice stores ordered keys and values in a log-structured merge tree. It has
batches, transactions, snapshots and sub-tables, and reads and writes the
tables of LevelDB. Its compactions run on the CPU, or on an FPGA, which this
version simulates.
.
")
set(VERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR})
math(EXPR next "${PROJECT_VERSION_MINOR} + 1")
# A minor version changes the soname, but not the package's name, so programs depend on theirs.
set(SAME_SONAME "libsluice0 (>= ${PROJECT_VERSION}), libsluice0 (<< ${PROJECT_VERSION_MAJOR}.${next}~)")
configure_file(${templates}/shlibs.in ${PROJECT_BINARY_DIR}/package_control/shlibs @ONLY)
foreach(PEER rocksdb leveldb)
  string(REGEX REPLACE "libsluice[-0a-z]*" libsluice-${PEER} SAME_SONAME ${SAME_SONAME})
  configure_file(${templates}/plugin_shlibs.in ${PROJECT_BINARY_DIR}/package_control/${PEER}/shlibs @ONLY)
endforeach()
set(engine_licenses)
foreach(package libfmt-dev libxxhash-dev nlohmann-json3-dev)
  list(APPEND engine_licenses /usr/share/doc/${package}/copyright)
endforeach()

sluice_package(libsluice0 SECTION libs COMPONENTS shared LICENSES ${engine_licenses}
  SYNOPSIS "LSM storage engine that offloads its compactions (shared library)"
  DESCRIPTION "${about}This package has the shared library: the engine and its CPU executor."
  CONTROL ${PROJECT_BINARY_DIR}/package_control/shlibs ${templates}/triggers)
sluice_package(libsluice-dev SECTION libdevel COMPONENTS development static conformance device
  LICENSES ${engine_licenses} ${templates}/verilator
  SYNOPSIS "LSM storage engine that offloads its compactions (development files)"
  DESCRIPTION "${about}This package has what building programs with Sluice takes: headers for C++
and C, static libraries of the engine, of simulated units and of conformance
tests, and files for CMake and pkg-config."
  DEPENDS "libsluice0 (= ${PROJECT_VERSION}-1)" libfmt-dev libisal-dev
    liblz4-dev libsnappy-dev liburing-dev libzstd-dev pkg-config)
sluice_package(sluice-tools SECTION database COMPONENTS tools
  LICENSES ${engine_licenses} /usr/share/doc/libcli11-dev/copyright ${templates}/verilator
  SYNOPSIS "LSM storage engine that offloads its compactions (command)"
  DESCRIPTION "${about}This package has the command sluice: it reads, writes, checks and repairs
databases, imports and compacts those of LevelDB, runs simulated units, and has
benchmarks."
  SUGGESTS gnuplot-nox)
set(about_units "Sluice can do the compactions of RocksDB, LevelDB and MariaDB databases: on the
CPU, or on an FPGA, which this version simulates.
.
")
sluice_package(libsluice-units SECTION libs COMPONENTS units LICENSES ${engine_licenses} ${templates}/verilator
  SYNOPSIS "LSM storage engine that offloads its compactions (simulated units)"
  DESCRIPTION "${about_units}This package has the units that libsluice-rocksdb, libsluice-leveldb and
mariadb-plugin-sluice load, if they are told to use some.")
set(about_rocksdb "Sluice can do the compactions of RocksDB databases, through RocksDB's own
CompactionService: on the CPU, or on an FPGA, which this version simulates.
.
")
sluice_package(libsluice-rocksdb SECTION libs COMPONENTS rocksdb LICENSES ${engine_licenses}
  SYNOPSIS "RocksDB's compactions by Sluice (shared libraries)"
  DESCRIPTION "${about_rocksdb}This package has the library for programs, and the one that is preloaded into
programs that know nothing of it."
  SUGGESTS "libsluice-units (= ${PROJECT_VERSION}-1)"
  CONTROL ${PROJECT_BINARY_DIR}/package_control/rocksdb/shlibs ${templates}/triggers)
sluice_package(libsluice-rocksdb-dev SECTION libdevel COMPONENTS rocksdb_development
  SYNOPSIS "RocksDB's compactions by Sluice (development files)"
  DESCRIPTION "${about_rocksdb}This package has what building programs with the library takes."
  DEPENDS "libsluice-rocksdb (= ${PROJECT_VERSION}-1)" "libsluice-dev (= ${PROJECT_VERSION}-1)" librocksdb-dev)
set(about_leveldb "Sluice can do the compactions of LevelDB databases, in a LevelDB that is linked
anew: on the CPU, or on an FPGA, which this version simulates.
.
")
set(leveldb_license /usr/share/doc/libleveldb-dev/copyright)
sluice_package(libsluice-leveldb SECTION libs COMPONENTS leveldb LICENSES ${engine_licenses} ${leveldb_license}
  SYNOPSIS "LevelDB's compactions by Sluice (shared libraries)"
  DESCRIPTION "${about_leveldb}This package has the library that compacts, and a LevelDB for programs that
know nothing of it."
  SUGGESTS "libsluice-units (= ${PROJECT_VERSION}-1)"
  CONTROL ${PROJECT_BINARY_DIR}/package_control/leveldb/shlibs ${templates}/triggers)
sluice_package(libsluice-leveldb-dev SECTION libdevel COMPONENTS leveldb_development LICENSES ${leveldb_license}
  SYNOPSIS "LevelDB's compactions by Sluice (development files)"
  DESCRIPTION "${about_leveldb}This package has what building programs with it takes."
  DEPENDS "libsluice-leveldb (= ${PROJECT_VERSION}-1)" "libsluice-dev (= ${PROJECT_VERSION}-1)" libleveldb-dev
    libsnappy-dev)
# The server takes plugins of its own version only.
file(READ ${PROJECT_SOURCE_DIR}/build/mariadb/version server_version)
string(STRIP ${server_version} server_version)
set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/build/mariadb/version)
sluice_package(mariadb-plugin-sluice SECTION database COMPONENTS mariadb
  LICENSES ${templates}/libmysqlservices
  SYNOPSIS "Sluice storage engine for MariaDB"
  DESCRIPTION "Sluice stores tables in log-structured merge trees, with transactions and
row locks, and compacts them on the CPU or on an FPGA, which this version
simulates. It is experimental.
.
This package has the plugin for MariaDB, and has the server load it."
  DEPENDS "mariadb-server (= ${server_version})" "libsluice0 (= ${PROJECT_VERSION}-1)"
  SUGGESTS "libsluice-units (= ${PROJECT_VERSION}-1)"
  CONTROL ${templates}/mariadb/conffiles)
file(GLOB nanobind_license
     ${PROJECT_SOURCE_DIR}/build/venv/lib/python3*/site-packages/nanobind-*.dist-info/licenses/LICENSE)
set(Python_EXECUTABLE ${PROJECT_SOURCE_DIR}/build/venv/bin/python)
find_package(Python COMPONENTS Interpreter REQUIRED)
math(EXPR next "${Python_VERSION_MINOR} + 1")
sluice_package(python3-sluice SECTION python COMPONENTS python LICENSES ${engine_licenses} ${nanobind_license}
  SYNOPSIS "LSM storage engine that offloads its compactions (Python 3)"
  DESCRIPTION "${about}This package has the Python module sluice, with type hints. It brings its own
copy of the engine."
  DEPENDS "python3 (>= 3.${Python_VERSION_MINOR}~)" "python3 (<< 3.${next})"
  CONTROL ${templates}/postinst ${templates}/prerm)

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME sluice)
set(CPACK_PACKAGE_CONTACT "${PACKAGE_MAINTAINER}")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "")  # CPack would put it before every package's own
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PRE_BUILD_SCRIPTS ${templates}/before_packing.cmake)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
  OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_PACKAGE_SOURCE sluice)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
# The plugin for MariaDB needs libsluice.so, of a package that is not there yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR})
set(CPACK_DEBIAN_PACKAGE_CONTROL_STRICT_PERMISSION ON)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
include(CPack)
