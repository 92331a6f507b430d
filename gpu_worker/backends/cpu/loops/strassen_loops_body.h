// Part of loops_body.h: Strassen's sums of quarters.

// With a the left matrix and b the right one, the products are
//   p0 = (a00 + a11)(b00 + b11)   p1 = (a10 + a11) b00   p2 = a00 (b01 - b11)
//   p3 = a11 (b10 - b00)          p4 = (a00 + a01) b11   p5 = (a10 - a00)(b00 + b01)
//   p6 = (a01 - a11)(b10 + b11)
// and the quarters of the result
//   c00 = p0 + p3 - p4 + p6   c01 = p2 + p4   c10 = p1 + p3   c11 = p0 - p1 + p2 + p5

namespace plait {
namespace {

void StrassenPairLoop(const StrassenPair& rows) {
  const float* const a0 = rows.x[0];
  const float* const a1 = rows.x[1];
  const float f0 = rows.factors[0];
  const float f1 = rows.factors[1];
  const int64_t size = rows.size;
  float* y[kStrassenProducts];
  for (int64_t i = 0; i < kStrassenProducts; ++i) y[i] = rows.y + i * rows.y_product_floats;
#pragma omp simd
  for (int64_t i = 0; i < size; ++i) {
    const float a00 = a0[i] * f0;
    const float a01 = a0[size + i] * f0;
    const float a10 = a1[i] * f1;
    const float a11 = a1[size + i] * f1;
    y[0][i] = a00 + a11;
    y[1][i] = a10 + a11;
    y[2][i] = a00;
    y[3][i] = a11;
    y[4][i] = a00 + a01;
    y[5][i] = a10 - a00;
    y[6][i] = a01 - a11;
  }
}

void StrassenSumsLoop(const StrassenSums& sums) {
  const float* p[kStrassenProducts];
  for (int64_t i = 0; i < kStrassenProducts; ++i) p[i] = sums.x + i * sums.x_product_floats;
  const float r0 = sums.row_factors[0];
  const float r1 = sums.row_factors[1];
  const auto [f0, f1] = sums.factors;
  const auto [b0, b1] = sums.bias;
  const auto [y00, y01] = sums.y[0];
  const auto [y10, y11] = sums.y[1];
#pragma omp simd
  for (int64_t i = 0; i < sums.size; ++i) {
    const float c00 = (p[0][i] + p[6][i]) + (p[3][i] - p[4][i]);
    const float c01 = p[2][i] + p[4][i];
    const float c10 = p[1][i] + p[3][i];
    const float c11 = (p[0][i] - p[1][i]) + (p[2][i] + p[5][i]);
    y00[i] = c00 * f0[i] * r0 + b0[i];
    y01[i] = c01 * f1[i] * r0 + b1[i];
    y10[i] = c10 * f0[i] * r1 + b0[i];
    y11[i] = c11 * f1[i] * r1 + b1[i];
  }
}

}  // namespace
}  // namespace plait
