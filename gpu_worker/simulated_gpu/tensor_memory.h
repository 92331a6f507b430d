#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/device_memory.h"
#include "gpu_worker/simulated_gpu/touches.h"

namespace plait::simulated_gpu {

// What an element of a library's tensor is.
enum class ElementType { kFloat, kDouble, kHalf, kBfloat16, kInt32, kInt64, kByte };

int64_t BytesOf(ElementType type);

// Where a tensor lies in the device's memory. Strides in elements, one for each size; a stride of 0
// repeats, which only a tensor may have that is read.
struct TensorPlace {
  std::string name;  // for messages
  uint64_t address = 0;
  std::vector<int64_t> sizes, strides;
  ElementType type = ElementType::kFloat;
  int64_t alignment_bytes = 1;  // that was promised of the address
};

int64_t ElementsOf(absl::Span<const int64_t> sizes);

// The bytes of its elements, and not those between them.
void AddReads(const TensorPlace& place, Touches* touches);
void AddWrites(const TensorPlace& place, Touches* touches);

// The elements, in the order of `sizes`, the last one fastest.
// Errors: kInvalidArgument for an address that is not aligned as was promised; those of
// DeviceMemory::Read().
absl::StatusOr<std::vector<double>> ReadTensor(const TensorPlace& place, DeviceMemory* memory);

// Rounds to the type of the elements. REQUIRES: as many values as elements.
// Errors: as ReadTensor(); kInvalidArgument also for elements that lie on one another.
absl::Status WriteTensor(const TensorPlace& place, absl::Span<const double> values,
                         DeviceMemory* memory);

}  // namespace plait::simulated_gpu
