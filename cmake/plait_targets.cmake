# plait_library(NAME SOURCES file... DEPS target... [PRECOMPILED target]): one static library per folder.
# plait_binary(NAME SOURCES file... DEPS target... [PRECOMPILED target]): a program, left in the top of
#   the build folder; what is linked with threads needs plait_precompiled_grpc.
# plait_names(FILE MACRO VARIABLE): the names that FILE lists as MACRO(name, ...), lines of a .def.
# plait_test(NAME SOURCES file... DEPS target... [LABELS label...]): a GoogleTest program, run by ctest.

add_library(plait_options INTERFACE)
target_include_directories(plait_options INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(plait_options INTERFACE
  -Wall -Wextra -Werror -Wno-missing-field-initializers -fno-omit-frame-pointer)
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_compile_options(plait_options INTERFACE -Wthread-safety)
else()
  # GCC 12 reports every move of a small absl::InlinedVector, whose unused inline bytes are unset, and
  # where it sees the vector's end, elements beside it.
  target_compile_options(plait_options INTERFACE
    -Wno-maybe-uninitialized -Wno-uninitialized -Wno-array-bounds)
  # GCC looks for garbage in all that it has read, precompiled headers too, again and again. With half a
  # gigabyte before it begins to, it hardly ever does, and takes a tenth more memory.
  target_compile_options(plait_options INTERFACE
    $<$<COMPILE_LANGUAGE:CXX>:--param=ggc-min-heapsize=524288>)
endif()
target_link_libraries(plait_options INTERFACE absl::status absl::statusor absl::strings absl::span
  absl::inlined_vector absl::flat_hash_map absl::flat_hash_set absl::synchronization absl::time)
if(PLAIT_SANITIZE)
  target_compile_options(plait_options INTERFACE
    -fsanitize=${PLAIT_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(plait_options INTERFACE -fsanitize=${PLAIT_SANITIZE})
  if(PLAIT_SANITIZE STREQUAL "thread")
    # Protobuf's headers lay messages out in another way when they see it, the library does not.
    target_compile_options(plait_options INTERFACE -U__SANITIZE_THREAD__)
  endif()
endif()

include(cmake/precompiled_headers.cmake)

# Headers, and what their templates become, are most of a build's time. Sources that are compiled
# together share it: optimizer/rules and what it needs take 72 s instead of 229.
# `tools/check-tidy` reads each source by itself.
function(plait_compile_together target)
  if(PLAIT_UNITY)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON)
  endif()
endfunction()

function(plait_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PRECOMPILED" "SOURCES;DEPS")
  add_library(${name} STATIC ${arg_SOURCES})
  plait_compile_together(${name})
  target_link_libraries(${name} PUBLIC plait_options ${arg_DEPS})
  plait_reuse_precompiled(${name} "${arg_PRECOMPILED}")
endfunction()

function(plait_binary name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "PRECOMPILED" "SOURCES;DEPS")
  string(REPLACE "-" "_" target ${name}_binary)
  add_executable(${target} ${arg_SOURCES})
  # Compiled as the libraries are, with whom it shares the precompiled headers.
  set_target_properties(${target} PROPERTIES OUTPUT_NAME ${name} POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(${target} PRIVATE -fPIC)
  target_link_libraries(${target} PRIVATE plait_options ${arg_DEPS})
  plait_reuse_precompiled(${target} "${arg_PRECOMPILED}")
endfunction()

function(plait_names file macro variable)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(STRINGS ${file} lines REGEX "^${macro}\\(")
  list(TRANSFORM lines REPLACE "^${macro}\\(([a-z0-9_]+).*" "\\1")
  set(${variable} ${lines} PARENT_SCOPE)
endfunction()

function(plait_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;LABELS")
  add_executable(${name} ${arg_SOURCES})
  plait_compile_together(${name})
  target_link_libraries(${name} PRIVATE plait_test_options ${arg_DEPS} GTest::gtest_main)
  target_precompile_headers(${name} REUSE_FROM plait_precompiled_test)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/tests)
  add_test(NAME ${name} COMMAND ${name})
  if(arg_LABELS)
    set_tests_properties(${name} PROPERTIES LABELS "${arg_LABELS}")
  endif()
endfunction()
