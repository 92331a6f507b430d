#include <algorithm>
#include <numeric>
#include <utility>

#include "optimizer/ops/shared/attention.h"

// Which keys a query may attend to, as a tensor of 0 and -infinity. Query i of a block stands at
// place p = past + i of all keys, or, where sequences have lengths, at p = length - queries + i. A
// causal block of two queries behind a cache of three sees
//   0 0 0 0 -inf
//   0 0 0 0 0
// Where no length is given all of it is constant: comparisons of two short lists, which fold.

namespace plait {
namespace {

// Makes bool tensors of what queries see.
class Sight {
 public:
  Sight(const Node& node, const AttentionShape& shape, Expansion* expansion)
      : shape_(shape), expansion_(expansion) {
    if (!HasInput(node, 6)) return;
    lengths_ =
        expansion->Add(OpKind::kReshape, {node.inputs[6], expansion->Ints({shape.batch, 1, 1, 1})});
  }

  // The bias of all bounds together; kNoTensor where they keep nobody from anything.
  TensorId Bias(const AttentionReach& reach, DataType dtype) {
    // The first query sees least to its right, the last one least to its left.
    const bool hides_right = lengths_ != kNoTensor || shape_.past + reach.right < shape_.keys - 1;
    if (reach.right < AttentionReach::kUnbounded && hides_right) {
      Allow(OpKind::kLessOrEqual, Places(reach.right));
    }
    const bool hides_left =
        lengths_ != kNoTensor || shape_.past + shape_.queries - 1 - reach.left > 0;
    if (reach.left < AttentionReach::kUnbounded && hides_left) {
      Allow(OpKind::kGreaterOrEqual, Places(-reach.left));
    }
    if (lengths_ != kNoTensor) Allow(OpKind::kLess, lengths_);
    if (allowed_ == kNoTensor) return kNoTensor;
    return expansion_->Add(OpKind::kWhere, {allowed_, expansion_->Scalar(dtype, 0),
                                            expansion_->Scalar(dtype, -kScoreInfinity)});
  }

 private:
  void Allow(OpKind comparison, TensorId bound) {
    if (columns_ == kNoTensor) {
      std::vector<int64_t> columns(static_cast<size_t>(shape_.keys));
      std::iota(columns.begin(), columns.end(), 0);
      columns_ = expansion_->Ints(std::move(columns));
    }
    const TensorId more = expansion_->Add(comparison, {columns_, bound});
    allowed_ = allowed_ == kNoTensor ? more : expansion_->Add(OpKind::kAnd, {allowed_, more});
  }

  // The places of queries, `shift` behind them: [queries, 1], or [batch, 1, queries, 1].
  TensorId Places(int64_t shift) {
    const int64_t first = (lengths_ == kNoTensor ? shape_.past : -shape_.queries) + shift;
    std::vector<int64_t> places(static_cast<size_t>(shape_.queries));
    for (size_t i = 0; i < places.size(); ++i) places[i] = first + static_cast<int64_t>(i);
    TensorId rows = expansion_->Add(OpKind::kReshape, {expansion_->Ints(std::move(places)),
                                                       expansion_->Ints({shape_.queries, 1})});
    return lengths_ == kNoTensor ? rows : expansion_->Add(OpKind::kAdd, {lengths_, rows});
  }

  const AttentionShape& shape_;
  Expansion* expansion_;
  TensorId columns_ = kNoTensor;
  TensorId lengths_ = kNoTensor;
  TensorId allowed_ = kNoTensor;
};

// The node's mask as numbers, as wide as the keys: those that it does not reach are hidden.
TensorId MaskOf(const Node& node, const AttentionShape& shape, Expansion* expansion) {
  if (!HasInput(node, 3)) return kNoTensor;
  TensorId mask = node.inputs[3];
  const DataType dtype = expansion->type(node.inputs[0]).dtype;
  if (expansion->type(mask).dtype == DataType::kBool) {
    mask = expansion->Add(OpKind::kWhere, {mask, expansion->Scalar(dtype, 0),
                                           expansion->Scalar(dtype, -kScoreInfinity)});
  }
  const TensorType type = expansion->type(mask);
  if (type.rank() == 0 || type.shape.back() >= shape.keys) return mask;
  std::vector<int64_t> pads(2 * type.shape.size(), 0);
  pads.back() = shape.keys - type.shape.back();
  return expansion->Add(OpKind::kPad, {mask, expansion->Ints(std::move(pads)),
                                       expansion->Scalar(dtype, -kScoreInfinity)});
}

}  // namespace

AttentionReach ReadAttentionReach(const Attributes& attributes) {
  const auto bound = [&](absl::string_view name) {
    const int64_t size = attributes.Int(name, -1);
    return size < 0 ? AttentionReach::kUnbounded : std::min(size, AttentionReach::kUnbounded);
  };
  AttentionReach reach{bound("left_window_size"), bound("right_window_size")};
  if (attributes.Int("is_causal", 0) != 0) reach.right = 0;
  return reach;
}

TensorId AttentionBias(const Node& node, const AttentionShape& shape, Expansion* expansion) {
  const DataType dtype = expansion->type(node.inputs[0]).dtype;
  const TensorId mask = MaskOf(node, shape, expansion);
  const TensorId sight =
      Sight(node, shape, expansion).Bias(ReadAttentionReach(*node.attributes), dtype);
  if (mask == kNoTensor || sight == kNoTensor) return mask == kNoTensor ? sight : mask;
  return expansion->Add(OpKind::kAdd, {mask, sight});
}

}  // namespace plait
