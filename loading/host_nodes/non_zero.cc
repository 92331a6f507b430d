#include <algorithm>

#include "base/status_macros.h"
#include "loading/host_nodes/operators.h"

namespace plait {
namespace {

// Which elements are not zero. Of floats the sign alone makes none of a zero: the highest bit of
// the last byte.
std::vector<int64_t> PlacesOf(const Tensor& x) {
  const int64_t size = BytesOf(x.type().dtype);
  const bool has_sign = IsFloat(x.type().dtype);
  std::vector<int64_t> places;
  const char* element = x.bytes().data();
  for (int64_t i = 0; i < x.elements(); ++i, element += size) {
    bool is_set = false;
    for (int64_t byte = 0; byte + 1 < size; ++byte) is_set |= element[byte] != 0;
    const auto last = static_cast<unsigned char>(element[size - 1]);
    if (is_set || (has_sign ? last & 0x7fU : last) != 0) places.push_back(i);
  }
  return places;
}

}  // namespace

// The indices of the elements that are not zero, in row-major order: one row for each axis. A
// scalar counts as a vector of one element.
absl::StatusOr<HostOperator> MakeNonZero(const HostNode& /*node*/) {
  return [](absl::Span<const Tensor> inputs) -> absl::StatusOr<std::vector<Tensor>> {
    PLAIT_RETURN_IF_ERROR(CheckGiven(inputs, 1));
    const Tensor& x = inputs[0];
    Shape shape = x.type().shape;
    if (shape.empty()) shape.push_back(1);
    const std::vector<int64_t> places = PlacesOf(x);
    const auto rank = static_cast<int64_t>(shape.size());
    const auto count = static_cast<int64_t>(places.size());
    std::vector<int64_t> indices(static_cast<size_t>(rank * count));
    for (int64_t i = 0; i < count; ++i) {
      int64_t rest = places[i];
      for (int64_t axis = rank - 1; axis >= 0; --axis) {
        indices[axis * count + i] = rest % shape[axis];
        rest /= shape[axis];
      }
    }
    return std::vector<Tensor>{Tensor::Of<int64_t>({rank, count}, indices)};
  };
}

}  // namespace plait
