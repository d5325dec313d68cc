# Writes OUT, a translation unit that includes every C++ file of DIR.
file(GLOB files ${DIR}/*.cpp)
list(SORT files)
set(text "")
foreach(file ${files})
  get_filename_component(base ${file} NAME)
  string(APPEND text "#include \"${base}\"\n")
endforeach()
file(WRITE ${OUT} "${text}")
