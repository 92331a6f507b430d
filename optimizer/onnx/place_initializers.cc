#include "optimizer/onnx/place_initializers.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "absl/strings/string_view.h"
#include "base/parallel_for.h"
#include "optimizer/ir/data_type.h"
#include "optimizer/onnx/messages/tensor_proto.h"

namespace plait {
namespace {

// An initializer's elements and the end of those that lie before them.
struct Placed {
  onnx::TensorProto* proto = nullptr;
  const char* free_begin = nullptr;
};

// Every one moves within what is free in front of it and its own place, so they need no order.
void Place(const Placed& placed, LargeBuffer* buffer) {
  // Of what the IR cannot hold nobody knows the elements.
  if (!IsSupportedDataType(placed.proto->data_type())) return;
  onnx::Bytes& elements = *placed.proto->raw_data.mutable_value();
  const auto alignment =
      static_cast<uintptr_t>(BytesOf(static_cast<DataType>(placed.proto->data_type())));
  const size_t distance = reinterpret_cast<uintptr_t>(elements.data()) % alignment;
  if (distance == 0) return;
  if (static_cast<size_t>(elements.data() - placed.free_begin) < distance) {
    return elements.assign(elements.data(), elements.size());
  }
  char* const target = buffer->data() + (elements.data() - buffer->data() - distance);
  std::memmove(target, elements.data(), elements.size());
  elements.LookAt(absl::string_view(target, elements.size()));
}

}  // namespace

void PlaceInitializers(int threads, ModelParts* parts) {
  if (!parts->proto.graph.has()) return;
  std::vector<Placed> placed;
  for (onnx::TensorProto& proto : parts->proto.graph.mutable_value()->initializer) {
    if (proto.raw_data().looks()) placed.push_back({&proto});
  }
  const auto begin_of = [](const Placed& one) { return one.proto->raw_data().data(); };
  std::sort(placed.begin(), placed.end(),
            [&](const Placed& a, const Placed& b) { return begin_of(a) < begin_of(b); });
  const char* free_begin = parts->bytes.data();
  for (Placed& one : placed) {
    one.free_begin = free_begin;
    free_begin = begin_of(one) + one.proto->raw_data().size();
  }
  ParallelFor(threads, static_cast<int>(placed.size()),
              [&](int index) { Place(placed[static_cast<size_t>(index)], &parts->bytes); });
}

}  // namespace plait
