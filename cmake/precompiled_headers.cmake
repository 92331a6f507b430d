# Most of the time of a build goes into reading the headers of libraries. What nearly every source
# includes is therefore read once per kind of target; a source of optimizer/ then compiles in half the
# time. Sources include what they use all the same: `tools/check-tidy --all` reads each of them
# without this file.
# Needs plait_options.

# GCC takes a precompiled header only where it was made with the same code generation flags.
# plait_precompiled(NAME HEADERS header... DEPS target...)
function(plait_precompiled name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;DEPS")
  file(GENERATE OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc CONTENT "")
  add_library(${name} OBJECT ${CMAKE_CURRENT_BINARY_DIR}/${name}.cc)
  target_link_libraries(${name} PRIVATE plait_options ${arg_DEPS})
  target_precompile_headers(${name} PRIVATE
    <algorithm> <cmath> <cstdint> <functional> <map> <memory> <optional> <string> <utility> <vector>
    <absl/container/flat_hash_map.h>
    <absl/container/flat_hash_set.h>
    <absl/container/inlined_vector.h>
    <absl/status/status.h>
    <absl/status/statusor.h>
    <absl/strings/str_cat.h>
    <absl/strings/str_format.h>
    <absl/strings/str_join.h>
    <absl/strings/str_split.h>
    <absl/synchronization/mutex.h>
    <absl/time/time.h>
    <absl/types/span.h>
    ${arg_HEADERS})
endfunction()

# plait_reuse_precompiled(TARGET PRECOMPILED): PRECOMPILED may be "".
function(plait_reuse_precompiled target precompiled)
  if(NOT precompiled)
    set(precompiled plait_precompiled)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
endfunction()

plait_precompiled(plait_precompiled)
plait_precompiled(plait_precompiled_grpc
  HEADERS <filesystem> <thread> <absl/container/btree_map.h> <grpcpp/grpcpp.h> <nlohmann/json.hpp>
    <plait/v1/capability.grpc.pb.h>
    <plait/v1/optimization.grpc.pb.h>
    <plait/v1/profile.grpc.pb.h>
  DEPS plait_grpc nlohmann_json::nlohmann_json)
if(PLAIT_TESTS)
  # gRPC brings these along, so that all tests have them.
  add_library(plait_test_options INTERFACE)
  target_compile_options(plait_test_options INTERFACE -pthread -DGTEST_HAS_PTHREAD=1)
  # A test runs once for each time that it is compiled, and what is tested is optimized all the same.
  target_compile_options(plait_test_options INTERFACE $<$<CONFIG:RelWithDebInfo>:-O0>)
  target_link_libraries(plait_test_options INTERFACE plait_options GTest::gmock)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    # GCC 12 reports std::string's + where the standard library comes from a precompiled header.
    target_compile_options(plait_test_options INTERFACE
      -Wno-restrict -Wno-stringop-overflow -Wno-stringop-overread)
  endif()
  plait_precompiled(plait_precompiled_test
    HEADERS <gmock/gmock.h> <gtest/gtest.h>
    DEPS plait_test_options)
  # Tests are programs, and compiled as such.
  set_target_properties(plait_precompiled_test PROPERTIES POSITION_INDEPENDENT_CODE OFF)
  target_compile_options(plait_precompiled_test PRIVATE -fPIE)
endif()
