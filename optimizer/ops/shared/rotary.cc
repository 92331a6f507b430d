#include "optimizer/ops/shared/rotary.h"

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/expansion.h"

namespace plait {
namespace {

// Cosines and sines are [positions, pairs] where positions choose rows, else [batch, sequence,
// pairs].
absl::Status CheckTables(const RotaryShape& shape, absl::Span<const TensorType> types,
                         bool has_positions) {
  const Shape tokens = {shape.batch, shape.sequence};
  if (has_positions && types[kRotaryPositions].shape != tokens) {
    return absl::InvalidArgumentError(absl::StrCat("positions must have shape ",
                                                   ShapeToString(tokens), ", have ",
                                                   ShapeToString(types[kRotaryPositions].shape)));
  }
  const int64_t pairs = shape.rotated / 2;
  const Shape expected =
      has_positions ? Shape{shape.angles, pairs} : Shape{shape.batch, shape.sequence, pairs};
  for (const size_t i : {kRotaryCosines, kRotarySines}) {
    if (types[i].shape == expected) continue;
    return absl::InvalidArgumentError(absl::StrCat("input ", i, " must have shape ",
                                                   ShapeToString(expected), ", has ",
                                                   ShapeToString(types[i].shape)));
  }
  return absl::OkStatus();
}

// Elements [begin, end) of the last axis, `step` apart.
TensorId LastAxis(TensorId x, int64_t begin, int64_t end, int64_t step, Expansion* expansion) {
  return expansion->Add(OpKind::kSlice, {x, expansion->Ints({begin}), expansion->Ints({end}),
                                         expansion->Ints({-1}), expansion->Ints({step})});
}

// The tables with an axis for the heads, which all read the same.
TensorId Angles(const Node& node, size_t table, const RotaryShape& shape, Expansion* expansion) {
  TensorId angles = node.inputs[table];
  if (shape.angles > 0) {
    angles = expansion->Add(OpKind::kGather, {angles, node.inputs[kRotaryPositions]});
  }
  return expansion->Add(OpKind::kUnsqueeze, {angles, expansion->Ints({shape.packed ? 2 : 1})});
}

TensorId Join(std::vector<TensorId> parts, Expansion* expansion) {
  return expansion->Add(OpKind::kConcat, std::move(parts), {{"axis", int64_t{-1}}});
}

}  // namespace

absl::StatusOr<RotaryShape> ReadRotaryShape(const Attributes& attributes,
                                            absl::Span<const TensorType> types) {
  const Shape& x = types[0].shape;
  const int64_t heads = attributes.Int("num_heads", 0);
  RotaryShape shape;
  if (x.size() == 4) {
    shape = {.batch = x[0], .sequence = x[2], .heads = x[1], .head_size = x[3]};
  } else if (x.size() == 3 && heads > 0 && x[2] % heads == 0) {
    shape = {.batch = x[0], .sequence = x[1], .heads = heads, .head_size = x[2] / heads};
    shape.packed = true;
  } else {
    return absl::InvalidArgumentError(
        absl::StrCat("input must have four axes, or three and num_heads that divides the last, is ",
                     types[0].ToString(), " with num_heads ", heads));
  }
  const int64_t rotated = attributes.Int("rotary_embedding_dim", 0);
  shape.rotated = rotated == 0 ? shape.head_size : rotated;
  shape.interleaved = attributes.Int("interleaved", 0) != 0;
  if (shape.rotated < 0 || shape.rotated > shape.head_size || shape.rotated % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("rotary_embedding_dim must be even and at most ",
                                                   shape.head_size, ", is ", shape.rotated));
  }
  const bool has_positions = types.size() > kRotaryPositions && types[kRotaryPositions].known();
  if (has_positions) {
    if (types[kRotaryCosines].rank() != 2 || types[kRotaryCosines].shape[0] == 0) {
      return absl::InvalidArgumentError("with positions, the cosines must be rows");
    }
    shape.angles = types[kRotaryCosines].shape[0];
  }
  PLAIT_RETURN_IF_ERROR(CheckTables(shape, types, has_positions));
  return shape;
}

absl::StatusOr<std::vector<TensorId>> ExpandRotary(const Node& node, GraphBuilder* builder) {
  Expansion expansion(builder);
  std::vector<TensorType> types;
  for (const TensorId input : node.inputs) types.push_back(expansion.type(input));
  PLAIT_ASSIGN_OR_RETURN(const RotaryShape shape, ReadRotaryShape(*node.attributes, types));
  if (types[0].elements() == 0) return absl::UnimplementedError("a form without elements");
  const auto reshape = [&](TensorId x, std::vector<int64_t> to) {
    return expansion.Add(OpKind::kReshape, {x, expansion.Ints(std::move(to))});
  };
  TensorId x = node.inputs[0];
  std::vector<int64_t> four = {shape.batch, shape.heads, shape.sequence, shape.head_size};
  if (shape.packed) std::swap(four[1], four[2]);
  if (shape.packed) x = reshape(x, four);
  const int64_t pairs = shape.rotated / 2;
  const int64_t step = shape.interleaved ? 2 : 1;
  const TensorId a = LastAxis(x, 0, shape.interleaved ? shape.rotated : pairs, step, &expansion);
  const TensorId b = LastAxis(x, shape.interleaved ? 1 : pairs, shape.rotated, step, &expansion);
  const TensorId cosines = Angles(node, kRotaryCosines, shape, &expansion);
  const TensorId sines = Angles(node, kRotarySines, shape, &expansion);
  const auto multiply = [&](TensorId p, TensorId q) { return expansion.Add(OpKind::kMul, {p, q}); };
  TensorId real = expansion.Add(OpKind::kSub, {multiply(a, cosines), multiply(b, sines)});
  TensorId imaginary = expansion.Add(OpKind::kAdd, {multiply(a, sines), multiply(b, cosines)});
  TensorId y = kNoTensor;
  if (shape.interleaved) {
    const TensorId last = expansion.Ints({-1});
    real = expansion.Add(OpKind::kUnsqueeze, {real, last});
    imaginary = expansion.Add(OpKind::kUnsqueeze, {imaginary, last});
    four.back() = shape.rotated;
    y = reshape(Join({real, imaginary}, &expansion), four);
  } else {
    y = Join({real, imaginary}, &expansion);
  }
  if (shape.rotated < shape.head_size) {
    y = Join({y, LastAxis(x, shape.rotated, shape.head_size, 1, &expansion)}, &expansion);
  }
  if (shape.packed) {
    y = reshape(y, {shape.batch, shape.sequence, shape.heads * shape.head_size});
  }
  return expansion.Outputs({y});
}

}  // namespace plait
