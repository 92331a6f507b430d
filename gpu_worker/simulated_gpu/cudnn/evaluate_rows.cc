#include <algorithm>
#include <cmath>

#include "absl/types/span.h"
#include "gpu_worker/simulated_gpu/cudnn/evaluate.h"
#include "gpu_worker/simulated_gpu/products.h"
#include "gpu_worker/simulated_gpu/tensor_memory.h"

// Products, norms and attention: what works on rows.

namespace plait::simulated_gpu {
namespace {

using Sizes = std::vector<int64_t>;

// Which matrix of a factor belongs to the matrix `batch` of the result: sizes of one repeat.
int64_t MatrixOf(const Sizes& factor, const Sizes& result, int64_t batch) {
  int64_t matrix = 0, step = 1;
  for (size_t i = result.size() - 2; i-- > 0;) {
    const int64_t at = batch % result[i];
    batch /= result[i];
    if (factor[i] != 1) matrix += at * step;
    step *= factor[i];
  }
  return matrix;
}

absl::Span<const double> PartOf(const TensorValues& values, int64_t number, int64_t size) {
  return absl::MakeConstSpan(values).subspan(static_cast<size_t>(number * size),
                                             static_cast<size_t>(size));
}

void Softmax(absl::Span<double> row) {
  const double largest = *std::max_element(row.begin(), row.end());
  double sum = 0;
  for (double& value : row) sum += value = std::exp(value - largest);
  for (double& value : row) value /= sum;
}

}  // namespace

TensorValues Evaluate(const MatmulOperation&, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  const size_t rank = sizes.size();
  const int64_t m = sizes[rank - 2], n = sizes[rank - 1], k = inputs[0].sizes[rank - 1];
  TensorValues c(static_cast<size_t>(ElementsOf(sizes)));
  for (int64_t batch = 0; batch < ElementsOf(sizes) / (m * n); ++batch) {
    MultiplyAdd(
        m, n, k, PartOf(inputs[0].values, MatrixOf(inputs[0].sizes, sizes, batch), m * k),
        PartOf(inputs[1].values, MatrixOf(inputs[1].sizes, sizes, batch), k * n),
        absl::MakeSpan(c).subspan(static_cast<size_t>(batch * m * n), static_cast<size_t>(m * n)));
  }
  return c;
}

TensorValues Evaluate(const LayerNormOperation&, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  const int64_t columns = ElementsOf(sizes) / sizes[0];
  const double epsilon = inputs[3].values[0];
  TensorValues y = inputs[0].values;
  for (int64_t row = 0; row < sizes[0]; ++row) {
    const absl::Span<double> values =
        absl::MakeSpan(y).subspan(static_cast<size_t>(row * columns), static_cast<size_t>(columns));
    double mean = 0, variance = 0;
    for (const double value : values) mean += value / static_cast<double>(columns);
    for (const double value : values) {
      variance += (value - mean) * (value - mean) / static_cast<double>(columns);
    }
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = (values[i] - mean) / std::sqrt(variance + epsilon) * inputs[1].values[i] +
                  inputs[2].values[i];
    }
  }
  return y;
}

TensorValues Evaluate(const AttentionOperation&, const std::vector<ShapedValues>& inputs,
                      const std::vector<int64_t>& sizes) {
  const Sizes &q = inputs[0].sizes, &v = inputs[2].sizes;
  const int64_t queries = q[2], keys = v[2], depth = q[3], width = v[3];
  const double scale = inputs[3].values[0];
  TensorValues o(static_cast<size_t>(ElementsOf(sizes)));
  for (int64_t head = 0; head < q[0] * q[1]; ++head) {
    const std::vector<double> k_transposed =
        Transposed(keys, depth, PartOf(inputs[1].values, head, keys * depth));
    std::vector<double> scores(static_cast<size_t>(queries * keys));
    MultiplyAdd(queries, keys, depth, PartOf(inputs[0].values, head, queries * depth), k_transposed,
                absl::MakeSpan(scores));
    for (double& score : scores) score *= scale;
    for (int64_t row = 0; row < queries; ++row) {
      Softmax(absl::MakeSpan(scores).subspan(static_cast<size_t>(row * keys),
                                             static_cast<size_t>(keys)));
    }
    MultiplyAdd(queries, width, keys, scores, PartOf(inputs[2].values, head, keys * width),
                absl::MakeSpan(o).subspan(static_cast<size_t>(head * queries * width),
                                          static_cast<size_t>(queries * width)));
  }
  return o;
}

}  // namespace plait::simulated_gpu
