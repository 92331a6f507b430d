#include "optimizer/ops/shared/attention.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/type_set.h"

namespace plait {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What the newest opset can say and plait does not compute.
absl::Status CheckImplemented(const OpCall& call) {
  for (size_t i = 4; i < call.input_types.size(); ++i) {
    if (call.has_input(i)) return absl::UnimplementedError("key-value caches are not implemented");
  }
  if (call.output_count > 1) {
    return absl::UnimplementedError("outputs behind the first are not implemented");
  }
  if (call.attributes.Int("left_window_size", -1) != -1 ||
      call.attributes.Int("right_window_size", -1) != -1) {
    return absl::UnimplementedError("sliding windows are not implemented");
  }
  return absl::OkStatus();
}

// A mask broadcasts to the scores, as float32[queries,keys] does to all batches and heads.
absl::Status CheckMask(const OpCall& call, const AttentionShape& shape) {
  if (!call.has_input(3)) return absl::OkStatus();
  const TensorType& mask = call.input_types[3];
  if (mask.dtype != DataType::kBool && mask.dtype != call.input_types[0].dtype) {
    return absl::UnimplementedError(
        absl::StrCat("a mask must be bool or of the query's type, is ", mask.ToString()));
  }
  // A shorter mask is not broadcast but padded by -infinity.
  if (mask.rank() == 0 || mask.shape.back() < shape.keys) {
    return absl::UnimplementedError("masks shorter than the keys are not implemented");
  }
  PLAIT_ASSIGN_OR_RETURN(const Shape broadcast, BroadcastShapes(mask.shape, shape.scores()));
  if (broadcast == shape.scores()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "the mask must broadcast to ", ShapeToString(shape.scores()), ", is ", mask.ToString()));
}

// The result has the query's format: packed heads stay packed.
Types Infer(const OpCall& call) {
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, i));
  }
  PLAIT_RETURN_IF_ERROR(CheckImplemented(call));
  PLAIT_ASSIGN_OR_RETURN(const AttentionShape shape,
                         ReadAttentionShape(call.attributes, call.input_types));
  if (!IsValidShape(shape.scores())) {
    return absl::InvalidArgumentError(
        absl::StrCat("scores of shape ", ShapeToString(shape.scores()), " are too large"));
  }
  PLAIT_RETURN_IF_ERROR(CheckMask(call, shape));
  Shape output = {shape.batch, shape.heads, shape.queries, shape.value_size};
  if (shape.packed) {
    output = {shape.batch, shape.queries, SaturatingMultiply(shape.heads, shape.value_size)};
  }
  PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, output));
  return std::vector<TensorType>{std::move(type)};
}

Work WorkOfCall(const OpCall& call, absl::Span<const TensorType> output_types) {
  Work work = DefaultWork(call, output_types);
  const absl::StatusOr<AttentionShape> shape =
      ReadAttentionShape(call.attributes, call.input_types);
  if (!shape.ok()) return work;
  // Two products and, as in Softmax, five operations per score. Scores count no bytes: a good
  // kernel keeps them on the chip (Dao et al., NeurIPS 2022).
  work.flops =
      SaturatingMultiply(ElementsOf(shape->scores()), 2 * (shape->size + shape->value_size) + 5);
  return work;
}

// Head `head` of image `batch` as a matrix [sequence, size], wherever the format puts it.
Matrix<const double> HeadOf(const EvalTensor& tensor, bool packed, int64_t heads, int64_t batch,
                            int64_t head) {
  const double* values = std::get<std::vector<double>>(tensor.values).data();
  const Shape& shape = tensor.type.shape;
  if (!packed) {
    const int64_t step = shape[2] * shape[3];
    return {values + (batch * heads + head) * step, shape[2], shape[3], shape[3]};
  }
  const int64_t size = shape[2] / heads;
  return {values + batch * shape[1] * shape[2] + head * size, shape[1], size, shape[2]};
}

// What is added to the scores of query `query`: 0, -infinity, or the mask's value.
void FillBias(const OpCall& call, EvalInputs inputs, const AttentionShape& shape,
              std::array<int64_t, 3> batch_head_query, absl::Span<double> bias) {
  std::fill(bias.begin(), bias.end(), 0);
  const int64_t query = batch_head_query[2];
  if (call.has_input(3)) {
    const EvalTensor& mask = *inputs[3];
    const Shape strides = BroadcastStrides(mask.type.shape, shape.scores());
    int64_t first = 0;
    for (size_t i = 0; i < 3; ++i) first += batch_head_query[i] * strides[i];
    const auto* allowed = std::get_if<std::vector<int64_t>>(&mask.values);
    const auto* added = std::get_if<std::vector<double>>(&mask.values);
    for (int64_t j = 0; j < shape.keys; ++j) {
      const int64_t at = first + j * strides[3];
      bias[j] = allowed == nullptr ? (*added)[at] : (*allowed)[at] != 0 ? 0 : -kInfinity;
    }
  }
  if (call.attributes.Int("is_causal", 0) == 0) return;
  for (int64_t j = query + 1; j < shape.keys; ++j) bias[j] = -kInfinity;
}

// Turns one query's scores into weights. A query that may attend to no key gets zeros.
void Normalize(absl::Span<const double> bias, double softcap, absl::Span<double> scores) {
  double largest = -kInfinity;
  double largest_bias = -kInfinity;
  for (size_t j = 0; j < scores.size(); ++j) {
    if (softcap > 0) scores[j] = softcap * std::tanh(scores[j] / softcap);
    scores[j] += bias[j];
    largest = std::max(largest, scores[j]);
    largest_bias = std::max(largest_bias, bias[j]);
  }
  if (largest_bias == -kInfinity) {
    std::fill(scores.begin(), scores.end(), 0);
    return;
  }
  double sum = 0;
  for (double& score : scores) sum += score = std::exp(score - largest);
  for (double& score : scores) score /= sum;
}

// scores[j] = scale * the product of query `i` and key j.
void FillScores(Matrix<const double> q, Matrix<const double> k, int64_t i, double scale,
                absl::Span<double> scores) {
  const double* query = q.values + i * q.row_stride;
  for (int64_t j = 0; j < k.rows; ++j) {
    const double* key = k.values + j * k.row_stride;
    double sum = 0;
    for (int64_t c = 0; c < q.columns; ++c) sum += query[c] * key[c];
    scores[j] = sum * scale;
  }
}

// Query by query, so that no more than one row of scores is held, whatever the sequence's length.
absl::Status Evaluate(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no exponential");
  PLAIT_ASSIGN_OR_RETURN(const AttentionShape shape,
                         ReadAttentionShape(call.attributes, call.input_types));
  const double scale = AttentionScale(call.attributes, shape);
  const double softcap = call.attributes.Float("softcap", 0);
  std::vector<double> bias(static_cast<size_t>(shape.keys));
  std::vector<double> scores(bias.size());
  for (int64_t plane = 0; plane < shape.batch * shape.heads; ++plane) {
    const int64_t batch = plane / shape.heads;
    const int64_t head = plane % shape.heads;
    const int64_t key_head = head / (shape.heads / shape.key_heads);
    const auto q = HeadOf(*inputs[0], shape.packed, shape.heads, batch, head);
    const auto k = HeadOf(*inputs[1], shape.packed, shape.key_heads, batch, key_head);
    const auto v = HeadOf(*inputs[2], shape.packed, shape.key_heads, batch, key_head);
    const auto to = HeadOf(outputs[0], shape.packed, shape.heads, batch, head);
    double* results = y->data() + (to.values - y->data());
    for (int64_t i = 0; i < shape.queries; ++i) {
      FillScores(q, k, i, scale, absl::MakeSpan(scores));
      FillBias(call, inputs, shape, {batch, head, i}, absl::MakeSpan(bias));
      Normalize(bias, softcap, absl::MakeSpan(scores));
      AddProduct<double>({scores.data(), 1, k.rows, k.rows}, v,
                         {results + i * to.row_stride, 1, to.columns, to.row_stride});
    }
  }
  return absl::OkStatus();
}

// Opset 23 and 24 tolerated head counts beside inputs that have an axis for heads.
absl::Status Raise(VersionedNode* node) {
  if (node->opset < 25 && !node->input_types.empty() && node->input_types[0].rank() == 4) {
    node->attributes.Erase("q_num_heads");
    node->attributes.Erase("kv_num_heads");
  }
  return absl::OkStatus();
}

absl::Status Lower(VersionedNode* node) {
  if (node->opset >= 25) return absl::OkStatus();
  node->attributes.Erase("left_window_size");
  node->attributes.Erase("right_window_size");
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<AttentionShape> ReadAttentionShape(const Attributes& attributes,
                                                  absl::Span<const TensorType> input_types) {
  const Shape& q = input_types[0].shape;
  const Shape& k = input_types[1].shape;
  const Shape& v = input_types[2].shape;
  const absl::Status mismatch = absl::InvalidArgumentError(
      absl::StrCat("query ", ShapeToString(q), ", key ", ShapeToString(k), ", value ",
                   ShapeToString(v), " and the head counts ", attributes.Int("q_num_heads", 0),
                   " and ", attributes.Int("kv_num_heads", 0), " do not agree"));
  if (q.size() != k.size() || k.size() != v.size() || (q.size() != 3 && q.size() != 4)) {
    return mismatch;
  }
  AttentionShape shape;
  shape.packed = q.size() == 3;
  shape.batch = q[0];
  shape.heads = shape.packed ? attributes.Int("q_num_heads", 0) : q[1];
  shape.key_heads = shape.packed ? attributes.Int("kv_num_heads", 0) : k[1];
  if (shape.heads < 1 || shape.key_heads < 1 || shape.heads % shape.key_heads != 0) {
    return mismatch;
  }
  const size_t sequence = q.size() - 2;
  shape.queries = q[sequence];
  shape.keys = k[sequence];
  if (shape.packed &&
      (q[2] % shape.heads != 0 || k[2] % shape.key_heads != 0 || v[2] % shape.key_heads != 0)) {
    return mismatch;
  }
  shape.size = shape.packed ? q[2] / shape.heads : q[3];
  shape.value_size = shape.packed ? v[2] / shape.key_heads : v[3];
  const int64_t key_size = shape.packed ? k[2] / shape.key_heads : k[3];
  if (k[0] != shape.batch || v[0] != shape.batch || v[sequence] != shape.keys ||
      key_size != shape.size || (!shape.packed && v[1] != shape.key_heads) || shape.size < 1 ||
      shape.keys < 1) {
    return mismatch;
  }
  return shape;
}

double AttentionScale(const Attributes& attributes, const AttentionShape& shape) {
  if (attributes.Has("scale")) return attributes.Float("scale", 1);
  return 1 / std::sqrt(static_cast<double>(shape.size));
}

// y = softmax(scale * q * transposed(k) + mask) * v per head (Vaswani et al., NeurIPS 2017, section
// 3.2); groups of query heads may share a key head (Ainslie et al., EMNLP 2023).
const OpSpec kAttentionSpec = {
    .kind = OpKind::kAttention,
    .since_opset = 23,
    .inputs = {3, 7},
    .outputs = {1, 4},
    .infer = Infer,
    .work = WorkOfCall,
    .evaluate = Evaluate,
    .raise = Raise,
    .lower = Lower,
    .expand = ExpandAttention,
};

}  // namespace plait
