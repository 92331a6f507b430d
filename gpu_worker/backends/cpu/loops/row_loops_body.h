// The loops over rows whose elements belong together, a part of loops_body.h: see there for how they
// are compiled and written.

namespace plait {
namespace {

// Three passes, the later ones over a row that is in the cache unless it is very long: scaled
// elements and the largest of them, exponentials and their sum, the division. The scaled elements
// are kept in y, so that x is read once. A NaN is not seen by the search for the largest, but makes
// the sum NaN.
void Softmax(const SoftmaxRow& row) {
  const float* x = row.x;
  float* y = row.y;
  float best = -kInfinity;
  if (row.mask != nullptr) {
    const float* mask = row.mask;
#pragma omp simd reduction(max : best)
    for (int64_t i = 0; i < row.size; ++i) {
      y[i] = x[i] * row.scale + mask[i];
      best = y[i] > best ? y[i] : best;
    }
  } else {
#pragma omp simd reduction(max : best)
    for (int64_t i = 0; i < row.size; ++i) {
      y[i] = x[i] * row.scale;
      best = y[i] > best ? y[i] : best;
    }
  }
  float sum = 0;
  // The logarithm needs the sum before it can write anything, so the exponentials are not kept.
  if (row.logarithm) {
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < row.size; ++i) sum += Exponential(y[i] - best);
    const float shift = best + Logarithm(sum);
#pragma omp simd
    for (int64_t i = 0; i < row.size; ++i) y[i] -= shift;
    return;
  }
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < row.size; ++i) {
    const float e = Exponential(y[i] - best);
    y[i] = e;
    sum += e;
  }
  // One division per row instead of one per element.
  const float scale = 1.0f / sum;
#pragma omp simd
  for (int64_t i = 0; i < row.size; ++i) y[i] *= scale;
}

// Two passes: the mean first, so that the variance does not cancel.
// The three loops at the end are one with two choices taken out of it: a choice inside would be
// made for each element.
void Normalization(const NormalizationRow& row) {
  const float* x = row.x;
  float* y = row.y;
  const float count = static_cast<float>(row.size);
  const float mean = Sum(x, row.size) / count;
  float squares = 0;
#pragma omp simd reduction(+ : squares)
  for (int64_t i = 0; i < row.size; ++i) squares += (x[i] - mean) * (x[i] - mean);
  // One root and one division per row.
  const float factor = 1.0f / __builtin_sqrtf(squares / count + row.epsilon);
  if (row.scale == nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < row.size; ++i) y[i] = (x[i] - mean) * factor;
  } else if (row.bias == nullptr) {
#pragma omp simd
    for (int64_t i = 0; i < row.size; ++i) y[i] = (x[i] - mean) * factor * row.scale[i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < row.size; ++i) {
      y[i] = (x[i] - mean) * factor * row.scale[i] + row.bias[i];
    }
  }
}

}  // namespace
}  // namespace plait
