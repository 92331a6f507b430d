#include "optimizer/ops/shared/attention.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/broadcast.h"
#include "optimizer/ops/shared/matrix_product.h"
#include "optimizer/ops/shared/type_set.h"
#include "optimizer/ops/shared/versions.h"

namespace plait {
namespace {

// Places of the inputs and outputs behind query, key, value and result.
constexpr size_t kMask = 3;
constexpr size_t kPastKey = 4;
constexpr size_t kPastValue = 5;
constexpr size_t kKeyLengths = 6;
constexpr size_t kPresentKey = 1;
constexpr size_t kPresentValue = 2;
constexpr size_t kShownScores = 3;

// A cache is there as a whole or not at all, and instead of lengths.
absl::Status CheckCaches(const OpCall& call, const AttentionShape& shape) {
  if (call.has_input(kPastKey) != call.has_input(kPastValue)) {
    return absl::InvalidArgumentError("a past key and a past value belong together");
  }
  if (call.has_input(kPastKey)) {
    if (call.has_input(kKeyLengths)) {
      return absl::InvalidArgumentError("lengths of sequences are not for caches");
    }
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 1, kPastKey));
    PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 2, kPastValue));
  }
  if (!call.has_input(kKeyLengths)) return absl::OkStatus();
  const TensorType& lengths = call.input_types[kKeyLengths];
  if (lengths == TensorType{DataType::kInt64, {shape.batch}}) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("lengths must be int64[", shape.batch, "], are ", lengths.ToString()));
}

// A mask broadcasts to the scores, as float32[queries,keys] does to all batches and heads. Keys
// that a shorter one does not reach are hidden.
absl::Status CheckMask(const OpCall& call, const AttentionShape& shape) {
  if (!call.has_input(kMask)) return absl::OkStatus();
  TensorType mask = call.input_types[kMask];
  if (mask.dtype != DataType::kBool && mask.dtype != call.input_types[0].dtype) {
    return absl::UnimplementedError(
        absl::StrCat("a mask must be bool or of the query's type, is ", mask.ToString()));
  }
  if (mask.rank() == 0) return absl::UnimplementedError("a mask of one number");
  mask.shape.back() = std::max(mask.shape.back(), shape.keys);
  PLAIT_ASSIGN_OR_RETURN(const Shape broadcast, BroadcastShapes(mask.shape, shape.scores()));
  if (broadcast == shape.scores()) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the mask must broadcast to ",
                                                 ShapeToString(shape.scores()), ", is ",
                                                 call.input_types[kMask].ToString()));
}

// Bounds become lists of the places of keys and queries. 2^24: 128 MiB, and longer than sequences
// are.
constexpr int64_t kBoundedMax = int64_t{1} << 24;

absl::Status CheckBounds(const OpCall& call, const AttentionShape& shape) {
  const AttentionReach reach = ReadAttentionReach(call.attributes);
  const bool is_bounded =
      std::min(reach.left, reach.right) < AttentionReach::kUnbounded || call.has_input(kKeyLengths);
  if (!is_bounded || std::max(shape.keys, shape.queries) <= kBoundedMax) return absl::OkStatus();
  return absl::UnimplementedError(absl::StrCat("bounds of ", shape.queries, " queries and ",
                                               shape.keys, " keys, of which ", kBoundedMax,
                                               " are implemented"));
}

// The result has the query's format: packed heads stay packed. Caches are never packed.
Types InferAttention(const OpCall& call) {
  for (size_t i = 0; i < 3; ++i) {
    PLAIT_RETURN_IF_ERROR(CheckDataType(call, i, TypeSet::kFloat));
  }
  PLAIT_RETURN_IF_ERROR(CheckSameDataType(call, 0, 1));
  if (call.input_types[2].dtype != call.input_types[0].dtype) {
    return absl::UnimplementedError("values of another type than the queries' are not implemented");
  }
  PLAIT_ASSIGN_OR_RETURN(const AttentionShape shape,
                         ReadAttentionShape(call.attributes, call.input_types));
  if (!IsValidShape(shape.scores())) {
    return absl::InvalidArgumentError(
        absl::StrCat("scores of shape ", ShapeToString(shape.scores()), " are too large"));
  }
  PLAIT_RETURN_IF_ERROR(CheckCaches(call, shape));
  PLAIT_RETURN_IF_ERROR(CheckMask(call, shape));
  PLAIT_RETURN_IF_ERROR(CheckBounds(call, shape));
  Shape output = {shape.batch, shape.heads, shape.queries, shape.value_size};
  if (shape.packed) {
    output = {shape.batch, shape.queries, SaturatingMultiply(shape.heads, shape.value_size)};
  }
  const Shape shapes[] = {std::move(output),
                          {shape.batch, shape.key_heads, shape.keys, shape.size},
                          {shape.batch, shape.key_heads, shape.keys, shape.value_size},
                          shape.scores()};
  std::vector<TensorType> types;
  for (int i = 0; i < call.output_count; ++i) {
    PLAIT_ASSIGN_OR_RETURN(TensorType type, CheckedType(call.input_types[0].dtype, shapes[i]));
    types.push_back(std::move(type));
  }
  return types;
}

Work WorkOfAttention(const OpCall& call, absl::Span<const TensorType> output_types) {
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

// Keys or values as [batch, heads, sequence, size], those of a cache in front.
EvalTensor PresentOf(EvalInputs inputs, size_t index, const AttentionShape& shape, int64_t size) {
  EvalTensor present;
  present.type = {inputs[index]->type.dtype, {shape.batch, shape.key_heads, shape.keys, size}};
  std::vector<double> values;
  values.reserve(static_cast<size_t>(ElementsOf(present.type.shape)));
  const auto append = [&](Matrix<const double> head) {
    for (int64_t row = 0; row < head.rows; ++row) {
      const double* const from = head.values + row * head.row_stride;
      values.insert(values.end(), from, from + head.columns);
    }
  };
  for (int64_t plane = 0; plane < shape.batch * shape.key_heads; ++plane) {
    const int64_t batch = plane / shape.key_heads;
    const int64_t head = plane % shape.key_heads;
    if (shape.past > 0) append(HeadOf(*inputs[index + 3], false, shape.key_heads, batch, head));
    append(HeadOf(*inputs[index], shape.packed, shape.key_heads, batch, head));
  }
  present.values = std::move(values);
  return present;
}

// The keys that a query may attend to but for its mask: [begin, end).
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
};

Range VisibleKeys(const OpCall& call, EvalInputs inputs, const AttentionShape& shape, int64_t batch,
                  int64_t query) {
  const AttentionReach reach = ReadAttentionReach(call.attributes);
  Range range{0, shape.keys};
  int64_t place = shape.past + query;
  if (call.has_input(kKeyLengths)) {
    const int64_t length = std::get<std::vector<int64_t>>(inputs[kKeyLengths]->values)[batch];
    const int64_t clamped =
        std::clamp(length, -AttentionReach::kUnbounded, AttentionReach::kUnbounded);
    place = clamped - shape.queries + query;
    range.end = std::clamp(clamped, int64_t{0}, shape.keys);
  }
  range.begin = std::max(range.begin, place - reach.left);
  range.end = std::min(range.end, place + reach.right + 1);
  return range;
}

// What is added to the scores of query `query`: 0, -infinity, or the mask's value.
void FillBias(const OpCall& call, EvalInputs inputs, const AttentionShape& shape,
              std::array<int64_t, 3> batch_head_query, absl::Span<double> bias) {
  std::fill(bias.begin(), bias.end(), 0);
  if (call.has_input(kMask)) {
    const EvalTensor& mask = *inputs[kMask];
    const int64_t width = mask.type.shape.back();
    Shape scores = shape.scores();
    scores.back() = width;
    const Shape strides = BroadcastStrides(mask.type.shape, scores);
    int64_t first = 0;
    for (size_t i = 0; i < 3; ++i) first += batch_head_query[i] * strides[i];
    const auto* allowed = std::get_if<std::vector<int64_t>>(&mask.values);
    const auto* added = std::get_if<std::vector<double>>(&mask.values);
    std::fill(bias.begin() + width, bias.end(), -kScoreInfinity);
    for (int64_t j = 0; j < width; ++j) {
      const int64_t at = first + j;
      bias[j] = allowed == nullptr ? (*added)[at] : (*allowed)[at] != 0 ? 0 : -kScoreInfinity;
    }
  }
  const Range range = VisibleKeys(call, inputs, shape, batch_head_query[0], batch_head_query[2]);
  for (int64_t j = 0; j < shape.keys; ++j) {
    if (j < range.begin || j >= range.end) bias[j] = -kScoreInfinity;
  }
}

// Turns one query's scores into weights, and copies those that `mode` asks for on the way to
// `shown`, if that is there. A query that may attend to no key gets zeros.
void Normalize(absl::Span<const double> bias, double softcap, int64_t mode,
               absl::Span<double> scores, absl::Span<double> shown) {
  const auto show = [&](int64_t stage) {
    if (stage == mode && !shown.empty()) std::copy(scores.begin(), scores.end(), shown.begin());
  };
  show(0);
  for (double& score : scores) {
    if (softcap > 0) score = softcap * std::tanh(score / softcap);
  }
  show(1);
  double largest = -kScoreInfinity;
  double largest_bias = -kScoreInfinity;
  for (size_t j = 0; j < scores.size(); ++j) {
    scores[j] += bias[j];
    largest = std::max(largest, scores[j]);
    largest_bias = std::max(largest_bias, bias[j]);
  }
  show(2);
  if (largest_bias == -kScoreInfinity) {
    std::fill(scores.begin(), scores.end(), 0);
  } else {
    double sum = 0;
    for (double& score : scores) sum += score = std::exp(score - largest);
    for (double& score : scores) score /= sum;
  }
  show(3);
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
absl::Status EvaluateAttention(const OpCall& call, EvalInputs inputs, EvalOutputs outputs) {
  auto* y = std::get_if<std::vector<double>>(&outputs[0].values);
  if (y == nullptr) return absl::UnimplementedError("a field has no exponential");
  PLAIT_ASSIGN_OR_RETURN(const AttentionShape shape,
                         ReadAttentionShape(call.attributes, call.input_types));
  const double scale = AttentionScale(call.attributes, shape);
  const double softcap = call.attributes.Float("softcap", 0);
  const int64_t mode = call.attributes.Int("qk_matmul_output_mode", 0);
  EvalTensor keys = PresentOf(inputs, 1, shape, shape.size);
  EvalTensor values = PresentOf(inputs, 2, shape, shape.value_size);
  std::vector<double> bias(static_cast<size_t>(shape.keys));
  std::vector<double> scores(bias.size());
  absl::Span<double> shown;
  if (outputs.size() > kShownScores) {
    shown = absl::MakeSpan(std::get<std::vector<double>>(outputs[kShownScores].values));
  }
  for (int64_t plane = 0; plane < shape.batch * shape.heads; ++plane) {
    const int64_t batch = plane / shape.heads;
    const int64_t head = plane % shape.heads;
    const int64_t key_head = head / (shape.heads / shape.key_heads);
    const auto q = HeadOf(*inputs[0], shape.packed, shape.heads, batch, head);
    const auto k = HeadOf(keys, false, shape.key_heads, batch, key_head);
    const auto v = HeadOf(values, false, shape.key_heads, batch, key_head);
    const auto to = HeadOf(outputs[0], shape.packed, shape.heads, batch, head);
    double* results = y->data() + (to.values - y->data());
    for (int64_t i = 0; i < shape.queries; ++i) {
      FillScores(q, k, i, scale, absl::MakeSpan(scores));
      FillBias(call, inputs, shape, {batch, head, i}, absl::MakeSpan(bias));
      const size_t row = static_cast<size_t>((plane * shape.queries + i) * shape.keys);
      Normalize(bias, softcap, mode, absl::MakeSpan(scores),
                shown.empty() ? shown : shown.subspan(row, scores.size()));
      AddProduct<double>({scores.data(), 1, k.rows, k.rows}, v,
                         {results + i * to.row_stride, 1, to.columns, to.row_stride});
    }
  }
  if (outputs.size() > kPresentKey) outputs[kPresentKey].values = std::move(keys.values);
  if (outputs.size() > kPresentValue) outputs[kPresentValue].values = std::move(values.values);
  return absl::OkStatus();
}

// Opset 23 and 24 tolerated head counts beside inputs that have an axis for heads.
absl::Status RaiseAttention(VersionedNode* node) {
  if (node->opset < 25 && !node->input_types.empty() && node->input_types[0].rank() == 4) {
    node->attributes.Erase("q_num_heads");
    node->attributes.Erase("kv_num_heads");
  }
  return absl::OkStatus();
}

absl::Status LowerAttention(VersionedNode* node) {
  if (node->opset < 24 && HasInput(*node, kKeyLengths)) {
    return NeedsOpset("lengths of sequences", 24);
  }
  if (node->opset >= 25) return absl::OkStatus();
  for (const absl::string_view name : {"left_window_size", "right_window_size"}) {
    if (node->attributes.Int(name, -1) >= 0) return NeedsOpset("a window", 25);
    node->attributes.Erase(name);
  }
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
  const bool has_past = input_types.size() > kPastKey && input_types[kPastKey].known();
  if (has_past && input_types[kPastKey].rank() != 4) return mismatch;
  if (has_past) shape.past = input_types[kPastKey].shape[2];
  shape.keys = SaturatingAdd(k[sequence], shape.past);
  if (shape.packed &&
      (q[2] % shape.heads != 0 || k[2] % shape.key_heads != 0 || v[2] % shape.key_heads != 0)) {
    return mismatch;
  }
  shape.size = shape.packed ? q[2] / shape.heads : q[3];
  shape.value_size = shape.packed ? v[2] / shape.key_heads : v[3];
  const int64_t key_size = shape.packed ? k[2] / shape.key_heads : k[3];
  if (k[0] != shape.batch || v[0] != shape.batch || v[sequence] != k[sequence] ||
      key_size != shape.size || (!shape.packed && v[1] != shape.key_heads) || shape.size < 1 ||
      shape.keys < 1) {
    return mismatch;
  }
  const Shape past_key = {shape.batch, shape.key_heads, shape.past, shape.size};
  const Shape past_value = {shape.batch, shape.key_heads, shape.past, shape.value_size};
  if (has_past && input_types[kPastKey].shape != past_key) return mismatch;
  const bool has_value = input_types.size() > kPastValue && input_types[kPastValue].known();
  if (has_value && input_types[kPastValue].shape != past_value) return mismatch;
  return shape;
}

bool IsPlainAttention(const OpCall& call) {
  const AttentionReach reach = ReadAttentionReach(call.attributes);
  if (call.output_count > 1 || call.attributes.Float("softcap", 0) > 0) return false;
  for (const size_t input : {kPastKey, kPastValue, kKeyLengths}) {
    if (call.has_input(input)) return false;
  }
  if (reach.left < AttentionReach::kUnbounded || reach.right < AttentionReach::kUnbounded) {
    return false;
  }
  if (!call.has_input(kMask)) return true;
  const absl::StatusOr<AttentionShape> shape =
      ReadAttentionShape(call.attributes, call.input_types);
  const TensorType& mask = call.input_types[kMask];
  return shape.ok() && mask.dtype != DataType::kBool && mask.shape.back() == shape->keys;
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
    .infer = InferAttention,
    .work = WorkOfAttention,
    .evaluate = EvaluateAttention,
    .raise = RaiseAttention,
    .lower = LowerAttention,
    .expand = ExpandAttention,
    .expands_at_import = [](const OpCall& call) { return !IsPlainAttention(call); },
};

}  // namespace plait
