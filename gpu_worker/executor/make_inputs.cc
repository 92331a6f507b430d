#include "gpu_worker/executor/make_inputs.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/random.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/rotary.h"

namespace plait {
namespace {

// Vocabularies are larger; a thousand values are enough to read different rows.
constexpr int64_t kIndexMax = 1000;

// A node that reads a tensor's values, by the name that they have there.
struct Use {
  NodeId node;
  TensorId tensor;
};

// Whoever reads the tensor's values, directly or where they were moved or cast.
std::vector<Use> UsesOf(const Graph& graph, TensorId tensor) {
  std::vector<Use> uses;
  std::vector<TensorId> pending = {tensor};
  absl::flat_hash_set<TensorId> seen = {tensor};
  while (!pending.empty()) {
    const TensorId current = pending.back();
    pending.pop_back();
    for (const NodeId user : graph.users(current)) {
      uses.push_back({user, current});
      const Node& node = graph.node(user);
      const bool moves = node.op == OpKind::kCast || HasTraits(node.op, kView) ||
                         HasTraits(node.op, kDataMovement);
      const bool passes = node.op == OpKind::kConcat || (moves && node.inputs[0] == current);
      for (const TensorId output : node.outputs) {
        if (passes && output != kNoTensor && seen.insert(output).second) pending.push_back(output);
      }
    }
  }
  return uses;
}

// The smallest axis that the values index there; nothing where they are no indices.
std::optional<int64_t> SizeIndexedBy(const Graph& graph, const Use& use) {
  const Node& node = graph.node(use.node);
  const size_t place = node.op == OpKind::kRotaryEmbedding ? kRotaryPositions : 1;
  if (node.inputs.size() <= place || node.inputs[place] != use.tensor) return std::nullopt;
  const Shape& data = graph.input_type(use.node, 0).shape;
  switch (node.op) {
    case OpKind::kGather:
    case OpKind::kGatherElements:
    case OpKind::kScatterElements:
      return data[NormalAxis(node.attributes->Int("axis", 0), data.size())];
    case OpKind::kGatherND:
    case OpKind::kScatterND: {
      const auto first = data.begin() + node.attributes->Int("batch_dims", 0);
      return *std::min_element(first, first + graph.type(use.tensor).shape.back());
    }
    case OpKind::kRotaryEmbedding:
      return graph.input_type(use.node, kRotaryCosines).shape[0];
    default:
      return std::nullopt;
  }
}

// The smallest axis that the tensor's values index; nothing where they index none.
std::optional<int64_t> IndexedSize(const Graph& graph, TensorId tensor) {
  std::optional<int64_t> smallest;
  for (const Use& use : UsesOf(graph, tensor)) {
    const std::optional<int64_t> size = SizeIndexedBy(graph, use);
    if (size) smallest = std::min(*size, smallest.value_or(kIndexMax));
  }
  return smallest;
}

// The sum of twelve uniform numbers less six, of variance 1: as normal as a comparison needs, and
// unlike a logarithm and a cosine the same bits on every machine.
double Normal(Random* random) {
  double sum = -6;
  for (int i = 0; i < 12; ++i) sum += random->Uniform();
  return sum;
}

double DrawUniform(Random* random) { return random->Uniform(-1, 1); }
double DrawWide(Random* random) { return 3 * Normal(random); }
double DrawNotNegative(Random* random) { return std::abs(Normal(random)); }

using Draw = double (*)(Random* random);
constexpr Draw kDraws[] = {DrawUniform, DrawWide, DrawNotNegative, Normal};

// A mask of ones lets everything pass: with random zeros whole rows of attention might be masked.
bool IsMask(const TensorInfo& info) {
  return absl::StrContains(absl::AsciiStrToLower(*info.name), "mask");
}

constexpr int64_t kDrawnElements = 8192;

std::string FloatBlock(const TensorInfo& info, int64_t size, Draw draw, Random* random) {
  std::vector<double> values(static_cast<size_t>(size), 1.0);
  if (!IsMask(info)) {
    for (double& value : values) value = draw(random);
  }
  return std::string(Tensor::FromDoubles({info.type.dtype, {size}}, values).bytes());
}

// Block by block, so that an input of gigabytes needs no doubles twice its size.
Tensor MakeFloats(const TensorInfo& info, Draw draw, Random* random) {
  std::string bytes;
  bytes.reserve(static_cast<size_t>(info.type.bytes()));
  for (int64_t begin = 0; begin < info.type.elements(); begin += kDrawnElements) {
    const int64_t size = std::min(kDrawnElements, info.type.elements() - begin);
    bytes += FloatBlock(info, size, draw, random);
  }
  return Tensor(info.type, std::move(bytes));
}

// One block again and again.
Tensor RepeatFloats(const TensorInfo& info, Draw draw, Random* random) {
  const auto size = static_cast<size_t>(info.type.bytes());
  const std::string block =
      FloatBlock(info, std::min(kDrawnElements, info.type.elements()), draw, random);
  std::string bytes;
  bytes.reserve(size);
  while (bytes.size() < size) bytes.append(block, 0, size - bytes.size());
  return Tensor(info.type, std::move(bytes));
}

// Bytes that stand for numbers, of a quantized model or of an image, take all values: sums of zeros
// and ones would say little of products that are to be exact, and of what an image does.
bool HoldsNumbers(const Graph& graph, TensorId id) {
  const DataType dtype = graph.type(id).dtype;
  if (dtype != DataType::kUint8 && dtype != DataType::kInt8) return false;
  const std::vector<Use> uses = UsesOf(graph, id);
  return std::any_of(uses.begin(), uses.end(), [&](const Use& use) {
    const Node& node = graph.node(use.node);
    switch (node.op) {
      case OpKind::kCast:
        return IsFloat(graph.type(node.outputs[0]).dtype);
      case OpKind::kConvInteger:
      case OpKind::kDequantizeLinear:
      case OpKind::kMatMulInteger:
      case OpKind::kQLinearConv:
      case OpKind::kQLinearMatMul:
        return true;
      default:
        return false;
    }
  });
}

Tensor MakeBytes(const TensorType& type, Random* random) {
  const int64_t lowest = type.dtype == DataType::kInt8 ? -128 : 0;
  std::vector<int64_t> values(static_cast<size_t>(type.elements()));
  for (int64_t& value : values) value = lowest + random->Integer(0, 255);
  return Tensor::FromInt64s(type, values);
}

Tensor MakeIntegers(const Graph& graph, TensorId id, Random* random) {
  const TensorInfo& info = graph.tensor(id);
  const std::optional<int64_t> indexed = IndexedSize(graph, id);
  if (!indexed && !IsMask(info) && HoldsNumbers(graph, id)) return MakeBytes(info.type, random);
  // 2: integers of unknown meaning are often flags.
  int64_t size = std::max<int64_t>(1, indexed.value_or(2));
  if (info.type.dtype == DataType::kBool) size = std::min<int64_t>(size, 2);
  // Index 0 everywhere would be all zeros.
  const int64_t one = std::min<int64_t>(1, size - 1);
  std::vector<int64_t> values(static_cast<size_t>(info.type.elements()), one);
  if (!IsMask(info)) {
    for (int64_t& value : values) value = random->Integer(0, size - 1);
    if (!values.empty()) values[0] = one;
  }
  return Tensor::FromInt64s(info.type, values);
}

using FloatMaker = Tensor (*)(const TensorInfo& info, Draw draw, Random* random);

absl::StatusOr<std::vector<Tensor>> MakeInputsBy(FloatMaker make_floats, const Graph& graph,
                                                 Draw draw, Random random) {
  std::vector<Tensor> inputs;
  for (const TensorId id : graph.inputs()) {
    const TensorInfo& info = graph.tensor(id);
    const DataType dtype = info.type.dtype;
    if (IsFloat(dtype)) {
      inputs.push_back(make_floats(info, draw, &random));
    } else if (IsInteger(dtype) || dtype == DataType::kBool) {
      inputs.push_back(MakeIntegers(graph, id, &random));
    } else {
      return absl::UnimplementedError(
          absl::StrCat("input ", *info.name, ": no random values of type ", info.type.ToString()));
    }
  }
  return inputs;
}

}  // namespace

absl::StatusOr<std::vector<Tensor>> MakeInputs(const Graph& graph, uint64_t seed, int index) {
  return MakeInputsBy(MakeFloats, graph, kDraws[static_cast<size_t>(index) % std::size(kDraws)],
                      Random(seed + static_cast<uint64_t>(index)));
}

absl::StatusOr<std::vector<Tensor>> MakeTimingInputs(const Graph& graph, uint64_t seed) {
  return MakeInputsBy(RepeatFloats, graph, DrawUniform, Random(seed));
}

}  // namespace plait
