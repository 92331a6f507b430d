// The loops over rows whose elements belong together, a part of loops_body.h: see there for how
// they are compiled and written.

namespace plait {
namespace {

float SumOfSquares(const float* x, int64_t size) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += x[i] * x[i];
  return sum;
}

float SumOfExponentials(const float* x, int64_t size, float shift) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) sum += Exponential(x[i] - shift);
  return sum;
}

// y = x * scale + mask, and returns the largest of them, which no NaN is.
inline float ScaleAndMask(const SoftmaxRow& row) {
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
  return best;
}

// y becomes exp(y - shift); returns the sum.
inline float MakeExponentials(float* y, int64_t size, float shift) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < size; ++i) {
    const float e = Exponential(y[i] - shift);
    y[i] = e;
    sum += e;
  }
  return sum;
}

inline void MultiplyBy(float factor, float* y, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) y[i] *= factor;
}

// Three passes, the later ones over a row that is in the cache unless it is very long: scaled
// elements and the largest of them, exponentials and their sum, the division. The scaled elements
// are kept in y, so that x is read once. A NaN is not seen by the search for the largest, but makes
// the sum NaN.
void Softmax(const SoftmaxRow& row) {
  const float best = ScaleAndMask(row);
  // The logarithm needs the sum before it can write anything, so the exponentials are not kept.
  if (row.logarithm) {
    float* y = row.y;
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int64_t i = 0; i < row.size; ++i) sum += Exponential(y[i] - best);
    const float log_sum = Logarithm(sum);
    // One after the other: beside a large maximum their sum would lose the logarithm's digits.
#pragma omp simd
    for (int64_t i = 0; i < row.size; ++i) y[i] = (y[i] - best) - log_sum;
    return;
  }
  const float sum = MakeExponentials(row.y, row.size, best);
  // One division per row instead of one per element.
  MultiplyBy(1.0f / sum, row.y, row.size);
}

// Beside other parts, one of minus infinities has no weight; less itself it would be NaN.
SoftmaxPart SoftmaxOfPart(const SoftmaxRow& row) {
  const float best = ScaleAndMask(row);
  const float sum = MakeExponentials(row.y, row.size, best == -kInfinity ? 0.0f : best);
  if (sum != 0) MultiplyBy(1.0f / sum, row.y, row.size);
  return {best, sum};
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

void RootMeanSquare(const NormalizationRow& row) {
  const float* x = row.x;
  float* y = row.y;
  const float mean = SumOfSquares(x, row.size) / static_cast<float>(row.size);
  const float factor = 1.0f / __builtin_sqrtf(mean + row.epsilon);
#pragma omp simd
  for (int64_t i = 0; i < row.size; ++i) y[i] = x[i] * factor * row.scale[i];
}

// Two loops, because pairs of neighbours cost the vectors a shuffle each way.
void TurnPairs(const TurnedPairs& row) {
  const float* x = row.x;
  const float* cosines = row.cosines;
  const float* sines = row.sines;
  float* y = row.y;
  const int64_t pairs = row.pairs;
  if (row.interleaved) {
#pragma omp simd
    for (int64_t i = 0; i < pairs; ++i) {
      const float a = x[2 * i];
      const float b = x[2 * i + 1];
      y[2 * i] = a * cosines[i] - b * sines[i];
      y[2 * i + 1] = a * sines[i] + b * cosines[i];
    }
    return;
  }
#pragma omp simd
  for (int64_t i = 0; i < pairs; ++i) {
    const float a = x[i];
    const float b = x[i + pairs];
    y[i] = a * cosines[i] - b * sines[i];
    y[i + pairs] = a * sines[i] + b * cosines[i];
  }
}

// Of numbers a that stand before b, column by column. Comparisons with a NaN are false, so that one
// in `best` stays unless the last one is looked for.
template <bool kLargest, bool kLast>
void BestColumns(const float* x, int32_t place, float* best, int32_t* places, int64_t size) {
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float a = best[i];
    const float b = x[i];
    const bool is_better = (kLargest ? b > a : b < a) || (kLast && b == a);
    const bool takes = is_better || (b != b && (kLast || a == a));
    best[i] = takes ? b : a;
    places[i] = takes ? place : places[i];
  }
}

}  // namespace
}  // namespace plait
