#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "plait/runtime.h"
#include "runtime/session.h"

// The structs of plait/runtime.h, which callers may have compiled with another version of it, and
// what is checked of them. Errors are InvalidArgument, naming the thing.
namespace plait {

// What plait_tensor had in its first version: callers may know less than this library, never less
// than that.
inline constexpr size_t kTensorBytesMin = 48;

// Whether a struct is as large as its first version was.
absl::Status CheckSize(size_t size, size_t size_min, absl::string_view name);
absl::Status CheckNotNull(const void* pointer, absl::string_view name);

// Element `index` of an array whose elements are as large as the caller's first one says.
template <typename Struct>
const Struct& ElementOf(const Struct* array, size_t index) {
  return *reinterpret_cast<const Struct*>(reinterpret_cast<const char*>(array) +
                                          index * array->struct_size);
}

// The fields that the caller's header has; the others are not there.
template <typename Struct>
void Write(const Struct& from, Struct* to) {
  const size_t size = to->struct_size;
  std::memcpy(to, &from, std::min(size, sizeof(Struct)));
  to->struct_size = size;
}

// Writes what input or output `index` is; `bound`: with the address where the session has it.
absl::Status Describe(absl::Span<const SessionTensor> tensors, size_t index, bool bound,
                      plait_tensor* described);

// The addresses of all inputs, or of all outputs.
absl::StatusOr<std::vector<void*>> ReadTensors(const plait_tensor* given, size_t count,
                                               absl::Span<const SessionTensor> wanted,
                                               absl::string_view kind);

}  // namespace plait
