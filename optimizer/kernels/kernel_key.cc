#include "optimizer/kernels/kernel_key.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "optimizer/ir/text.h"

// A convolution and its Relu stand at nodes 12 and 13 of one model and at 3 and 4 of another, with
// other names and other weights of the same shapes. Tensors are numbered as they are met, so that
// both are
//   Conv(0, 1, 2) -> 3, Relu(3) -> 4, out: 4
// where 0 is a value, 1 and 2 are parameters known by type alone, and attributes are part of Conv.
// Both have one fingerprint, are looked up once and measured once. Had the bias one element, its
// value would count: one number may be a setting (see KernelSettings).
//
// Building KernelGraph and printing it says the same, and the key's text is made so; but it takes
// allocations for every node, and a search asks for the kernels of thousands of graphs.

namespace plait {
namespace {

void AddBits(FingerprintBuilder& builder, float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof(bits));
  builder.Add(uint64_t{bits});
}

void AddType(FingerprintBuilder& builder, const TensorType& type) {
  builder.Add(static_cast<int>(type.dtype)).Add(type.rank());
  for (const int64_t dimension : type.shape) builder.Add(dimension);
}

// Lengths go first everywhere, so that two lists never run into each other.
struct AttributeHasher {
  FingerprintBuilder& builder;

  void operator()(int64_t value) { builder.Add(value); }
  void operator()(float value) { AddBits(builder, value); }
  void operator()(const std::string& value) { builder.Add(absl::string_view(value)); }
  void operator()(const Tensor& value) {
    AddType(builder, value.type());
    builder.Add(value.bytes());
  }
  void operator()(const OpaqueBytes& value) { builder.Add(absl::string_view(value.bytes)); }
  template <typename T>
  void operator()(const std::vector<T>& values) {
    builder.Add(static_cast<int>(values.size()));
    for (const T& value : values) (*this)(value);
  }
};

void AddAttributes(FingerprintBuilder& builder, const Attributes& attributes) {
  builder.Add(static_cast<int>(attributes.entries().size()));
  for (const Attributes::Entry& entry : attributes.entries()) {
    builder.Add(absl::string_view(entry.first)).Add(static_cast<int>(entry.second.index()));
    std::visit(AttributeHasher{builder}, entry.second);
  }
}

// Numbers tensors by first use, so that the place in the model takes no part.
class LocalTensors {
 public:
  LocalTensors(const Graph& graph, absl::Span<const NodeId> nodes)
      : graph_(graph), settings_(graph, nodes) {}

  // Adds the tensor's number, and what is known about it where it is seen first.
  void AddUse(FingerprintBuilder& builder, TensorId tensor) {
    if (tensor == kNoTensor) {
      builder.Add(-1);
      return;
    }
    const auto [place, is_new] = numbers_.emplace(tensor, static_cast<int>(numbers_.size()));
    builder.Add(place->second);
    if (!is_new) return;
    AddType(builder, graph_.type(tensor));
    const ConstantRef& constant = graph_.tensor(tensor).constant;
    const bool is_setting = constant != nullptr && settings_.Has(tensor);
    builder.Add(constant == nullptr ? 0 : is_setting ? 2 : 1);
    if (is_setting) builder.Add(constant->inline_value()->bytes());
  }

 private:
  const Graph& graph_;
  const KernelSettings settings_;
  absl::flat_hash_map<TensorId, int> numbers_;
};

// Inputs before outputs without a mark between them: the graph says how many there are of each.
std::string FormatsText(const Kernel& kernel) {
  std::vector<absl::string_view> names;
  for (const Format format : kernel.input_formats) names.push_back(FormatName(format));
  for (const Format format : kernel.output_formats) names.push_back(FormatName(format));
  return absl::StrJoin(names, ",");
}

ProfileKey KeyOf(const Kernel& kernel, const ProfileOrigin& origin, std::string graph) {
  ProfileKey key;
  key.device_fingerprint = std::string(origin.device_fingerprint);
  key.family = kernel.family;
  key.variant = kernel.variant;
  key.version = std::string(origin.version);
  key.width = kernel.width;
  key.graph_text = std::move(graph);
  key.formats = FormatsText(kernel);
  return key;
}

}  // namespace

Fingerprint StructureFingerprint(const Graph& graph, absl::Span<const NodeId> nodes) {
  FingerprintBuilder builder;
  LocalTensors tensors(graph, nodes);
  for (const NodeId id : nodes) {
    const Node& node = graph.node(id);
    builder.Add(absl::string_view(OpKindName(node.op)));
    AddAttributes(builder, *node.attributes);
    builder.Add(static_cast<int>(node.inputs.size()));
    for (const TensorId input : node.inputs) tensors.AddUse(builder, input);
    builder.Add(static_cast<int>(node.outputs.size()));
    for (const TensorId output : node.outputs) tensors.AddUse(builder, output);
  }
  for (const TensorId output : OutputsOf(graph, nodes)) tensors.AddUse(builder, output);
  return builder.Finish();
}

// Formats have a mark between inputs and outputs, because this number has no graph beside it.
Fingerprint KernelFingerprint(const Fingerprint& structure, const Kernel& kernel) {
  FingerprintBuilder builder;
  builder.Add(structure).Add(absl::string_view(kernel.family));
  builder.Add(absl::string_view(kernel.variant)).Add(kernel.width);
  for (const Format format : kernel.input_formats) builder.Add(static_cast<int>(format));
  builder.Add(-1);
  for (const Format format : kernel.output_formats) builder.Add(static_cast<int>(format));
  return builder.Finish();
}

ProfileKey KernelProfileKey(const Graph& graph, const Kernel& kernel, const ProfileOrigin& origin) {
  return KeyOf(kernel, origin, PrintGraph(KernelGraph(graph, kernel.nodes)));
}

Fingerprint ReorderFingerprint(const TensorType& type, const Kernel& reorder) {
  FingerprintBuilder builder;
  AddType(builder, type);
  return KernelFingerprint(builder.Finish(), reorder);
}

ProfileKey ReorderProfileKey(const TensorType& type, const Kernel& reorder,
                             const ProfileOrigin& origin) {
  GraphBuilder builder;
  builder.AddOutput(builder.AddInput(type, "i0"));
  const absl::StatusOr<Graph> graph = std::move(builder).Finish();
  PLAIT_CHECK(graph.ok());  // a graph without nodes has no cycle
  return KeyOf(reorder, origin, PrintGraph(*graph));
}

}  // namespace plait
