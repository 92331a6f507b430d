# Writes OUTPUT: a line PLAIT_FAMILY_VERSION(name, "digest") for each line of BACKEND/families.def.
# usage: cmake -DROOT=DIR -DBACKEND=FOLDER -DCOMPILER=TEXT -DOUTPUT=FILE -P family_versions.cmake
#
# A family's digest is that of its files offers/<name>.cc and kernels/<name>.cc, of everything in
# BACKEND and in gpu_worker/backends/groups that they include, of the sources behind each header
# (header.cc, header_*.cc) and what those include, of CMakeLists.txt beside them, of the state of the
# caches in which kernels are timed, and of the compiler. Comments and spaces take no part, nor does
# families.def, which says nothing about any one family.
cmake_minimum_required(VERSION 3.25)

# Sets digest_FILE, and next_FILE to the files that FILE brings with it.
function(read_source file)
  file(READ ${ROOT}/${file} text)
  string(REGEX REPLACE "//[^\n]*" "" text "${text}")
  string(REGEX REPLACE "[ \t\n]+" " " code "${text}")
  string(SHA256 digest "${code}")
  string(REGEX MATCHALL "#include \"(${BACKEND}|gpu_worker/backends/groups)/[^\"]+\"" next "${text}")
  list(TRANSFORM next REPLACE "#include \"(.*)\"" "\\1")
  if(file MATCHES "(.*)\\.h$")
    set(stem ${ROOT}/${CMAKE_MATCH_1})
    file(GLOB sources RELATIVE ${ROOT} ${stem}.cc ${stem}_*.cc)
    list(APPEND next ${sources})
  endif()
  cmake_path(GET file PARENT_PATH folder)
  if(EXISTS ${ROOT}/${folder}/CMakeLists.txt)
    list(APPEND next ${folder}/CMakeLists.txt)
  endif()
  list(REMOVE_ITEM next ${BACKEND}/families.def)
  set(digest_${file} ${digest} PARENT_SCOPE)
  set(next_${file} "${next}" PARENT_SCOPE)
endfunction()

file(STRINGS ${ROOT}/${BACKEND}/families.def families REGEX "^PLAIT_[A-Z]+_FAMILY\\(")
list(TRANSFORM families REPLACE "^[A-Z_]+\\(([a-z0-9_]+).*" "\\1")
foreach(family IN LISTS families)
  set(reached)
  set(pending ${BACKEND}/CMakeLists.txt ${BACKEND}/offers/${family}.cc ${BACKEND}/kernels/${family}.cc
    ${BACKEND}/run/private_caches.h)
  while(pending)
    list(POP_FRONT pending file)
    if(NOT file IN_LIST reached)
      list(APPEND reached ${file})
      if(NOT DEFINED digest_${file})
        read_source(${file})
      endif()
      list(APPEND pending ${next_${file}})
    endif()
  endwhile()
  list(SORT reached)
  set(digests "${COMPILER}\n")
  foreach(file IN LISTS reached)
    string(APPEND digests "${file} ${digest_${file}}\n")
  endforeach()
  string(SHA256 version "${digests}")
  string(SUBSTRING ${version} 0 12 version)
  string(APPEND lines "PLAIT_FAMILY_VERSION(${family}, \"${version}\")\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${lines}")
