#include "gpu_worker/simulated_gpu/tensor_memory.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "gpu_worker/simulated_gpu/half_floats.h"

namespace plait::simulated_gpu {
namespace {

struct Dimension {
  int64_t size = 1;
  int64_t stride = 0;  // in memory
  int64_t step = 0;    // in the order of sizes
};

// The dimensions from the largest stride to the smallest: then memory is walked forwards. Those
// that repeat come first, so that what lies side by side is not torn apart.
std::vector<Dimension> InMemoryOrder(const TensorPlace& place) {
  std::vector<Dimension> dimensions;
  int64_t step = 1;
  for (size_t i = place.sizes.size(); i-- > 0;) {
    if (place.sizes[i] != 1) dimensions.push_back({place.sizes[i], place.strides[i], step});
    step *= place.sizes[i];
  }
  std::stable_sort(dimensions.begin(), dimensions.end(),
                   [](const Dimension& a, const Dimension& b) {
                     if ((a.stride == 0) != (b.stride == 0)) return a.stride == 0;
                     return a.stride > b.stride;
                   });
  return dimensions;
}

// How many elements lie side by side.
int64_t RunElements(const std::vector<Dimension>& dimensions) {
  int64_t run = 1;
  for (auto dimension = dimensions.rbegin();
       dimension != dimensions.rend() && dimension->stride == run; ++dimension) {
    run *= dimension->size;
  }
  return run;
}

// Walks the elements in memory order: `visit` gets where one lies and which one it is.
template <typename Visit>
void Walk(const std::vector<Dimension>& dimensions, const Visit& visit) {
  std::vector<int64_t> at(dimensions.size());
  int64_t offset = 0, element = 0;
  while (true) {
    visit(offset, element);
    size_t i = dimensions.size();
    while (i > 0) {
      const Dimension& dimension = dimensions[--i];
      offset += dimension.stride;
      element += dimension.step;
      if (++at[i] < dimension.size) break;
      offset -= dimension.stride * dimension.size;
      element -= dimension.step * dimension.size;
      at[i] = 0;
      if (i == 0) return;
    }
    if (dimensions.empty()) return;
  }
}

double FromBytes(ElementType type, const std::byte* bytes) {
  const auto as = [&](auto value) {
    std::memcpy(&value, bytes, sizeof(value));
    return value;
  };
  switch (type) {
    case ElementType::kFloat:
      return as(float());
    case ElementType::kDouble:
      return as(double());
    case ElementType::kHalf:
      return FromHalf(as(uint16_t()));
    case ElementType::kBfloat16:
      return FromBfloat(as(uint16_t()));
    case ElementType::kInt32:
      return as(int32_t());
    case ElementType::kInt64:
      return static_cast<double>(as(int64_t()));
    case ElementType::kByte:
      return as(uint8_t());
  }
  return 0;
}

void ToBytes(ElementType type, double value, std::byte* bytes) {
  const auto store = [&](auto rounded) { std::memcpy(bytes, &rounded, sizeof(rounded)); };
  switch (type) {
    case ElementType::kFloat:
      return store(static_cast<float>(value));
    case ElementType::kDouble:
      return store(value);
    case ElementType::kHalf:
      return store(ToHalf(static_cast<float>(value)));
    case ElementType::kBfloat16:
      return store(ToBfloat(static_cast<float>(value)));
    case ElementType::kInt32:
      return store(static_cast<int32_t>(value));
    case ElementType::kInt64:
      return store(static_cast<int64_t>(value));
    case ElementType::kByte:
      return store(static_cast<uint8_t>(value));
  }
}

absl::Status CheckAligned(const TensorPlace& place) {
  if (place.address % static_cast<uint64_t>(place.alignment_bytes) == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrFormat("misaligned: %s at 0x%x is no multiple of %d",
                                                    place.name, place.address,
                                                    place.alignment_bytes));
}

// Calls `run` with every range of elements that lie side by side. Ranges may overlap where rows do.
void ForEachRun(const TensorPlace& place, const std::function<void(ByteRange)>& run) {
  std::vector<Dimension> dimensions = InMemoryOrder(place);
  const int64_t elements = RunElements(dimensions);
  // Walked are neither those inside of a run, nor those that repeat.
  for (int64_t run_size = 1; run_size < elements; dimensions.pop_back()) {
    run_size *= dimensions.back().size;
  }
  std::erase_if(dimensions, [](const Dimension& dimension) { return dimension.stride == 0; });
  Walk(dimensions, [&](int64_t offset, int64_t) {
    const uint64_t begin = place.address + static_cast<uint64_t>(offset * BytesOf(place.type));
    run({begin, begin + static_cast<uint64_t>(elements * BytesOf(place.type))});
  });
}

}  // namespace

int64_t BytesOf(ElementType type) {
  switch (type) {
    case ElementType::kHalf:
    case ElementType::kBfloat16:
      return 2;
    case ElementType::kFloat:
    case ElementType::kInt32:
      return 4;
    case ElementType::kDouble:
    case ElementType::kInt64:
      return 8;
    case ElementType::kByte:
      return 1;
  }
  return 1;
}

int64_t ElementsOf(absl::Span<const int64_t> sizes) {
  int64_t count = 1;
  for (const int64_t size : sizes) count *= size;
  return count;
}

void AddReads(const TensorPlace& place, Touches* touches) {
  ForEachRun(place, [&](ByteRange range) { touches->Read(range); });
}

void AddWrites(const TensorPlace& place, Touches* touches) {
  ForEachRun(place, [&](ByteRange range) { touches->Write(range); });
}

absl::StatusOr<std::vector<double>> ReadTensor(const TensorPlace& place, DeviceMemory* memory) {
  PLAIT_RETURN_IF_ERROR(CheckAligned(place));
  const std::vector<Dimension> dimensions = InMemoryOrder(place);
  const int64_t run = RunElements(dimensions);
  const int64_t bytes = BytesOf(place.type);
  std::vector<double> values(static_cast<size_t>(ElementsOf(place.sizes)));
  std::vector<std::byte> buffer(static_cast<size_t>(run * bytes));
  int64_t left = 0;  // of the run in the buffer
  int64_t begin = 0;
  absl::Status status;
  Walk(dimensions, [&](int64_t offset, int64_t element) {
    if (!status.ok()) return;
    if (left == 0) {
      begin = offset;
      left = run;
      status = memory->Read(place.address + static_cast<uint64_t>(offset * bytes),
                            absl::MakeSpan(buffer));
      if (!status.ok()) return;
    }
    --left;
    values[static_cast<size_t>(element)] =
        FromBytes(place.type, buffer.data() + (offset - begin) * bytes);
  });
  if (!status.ok()) return Annotate(status, place.name);
  return values;
}

absl::Status WriteTensor(const TensorPlace& place, absl::Span<const double> values,
                         DeviceMemory* memory) {
  PLAIT_RETURN_IF_ERROR(CheckAligned(place));
  const std::vector<Dimension> dimensions = InMemoryOrder(place);
  // What a dimension walks has to lie behind all that the smaller ones reach.
  int64_t reach = 1;
  for (auto dimension = dimensions.rbegin(); dimension != dimensions.rend(); ++dimension) {
    if (dimension->stride < reach) {
      return absl::InvalidArgumentError(
          absl::StrCat(place.name, ": its elements lie on one another"));
    }
    reach += dimension->stride * (dimension->size - 1);
  }
  const int64_t run = RunElements(dimensions);
  const int64_t bytes = BytesOf(place.type);
  std::vector<std::byte> buffer(static_cast<size_t>(run * bytes));
  int64_t filled = 0;
  int64_t begin = 0;
  absl::Status status;
  Walk(dimensions, [&](int64_t offset, int64_t element) {
    if (!status.ok()) return;
    if (filled == 0) begin = offset;
    ToBytes(place.type, values[static_cast<size_t>(element)], buffer.data() + filled * bytes);
    if (++filled < run) return;
    filled = 0;
    status = memory->Write(place.address + static_cast<uint64_t>(begin * bytes), buffer);
  });
  return status.ok() ? status : Annotate(status, place.name);
}

}  // namespace plait::simulated_gpu
