# Before packages are made of what was installed: static libraries go without debug information, as
# CPack has it for the shared ones, and manual pages are compressed.
file(GLOB_RECURSE libraries ${CPACK_TEMPORARY_DIRECTORY}/*.a)
foreach(library ${libraries})
  execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${library}
                  COMMAND_ERROR_IS_FATAL ANY)
endforeach()
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_DIRECTORY}/*.1)
foreach(page ${pages})
  execute_process(COMMAND gzip -9n ${page} COMMAND_ERROR_IS_FATAL ANY)
endforeach()
