#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "gpu_worker/backends/cpu/loops/bf16_loops.h"
#include "gpu_worker/backends/cpu/loops/conversion_loops.h"
#include "gpu_worker/backends/cpu/loops/half_loops.h"
#include "gpu_worker/backends/cpu/loops/integer_loops.h"
#include "gpu_worker/backends/cpu/loops/row_loops.h"

// The map of this folder:
//   loops.def           the elementwise loops, one line each: a name and an element's expression
//   loops.h             the table of all loops, and the choice of one table per process
//   loops_body.h        the loops and their functions, as portable C++ that compilers vectorize
//   exponential_loops_body.h  vectors, and loops that are made of exponentials
//   row_loops_body.h    the same for rows whose elements belong together
//   row_loops.h         what those are given
//   digit_loops_body.h  the same for numbers in digits
//   few_rows_loops_body.h the same for products of a few rows
//   window_loops_body.h the same for windows that move over an image
//   conversion_loops, conversion_loops_body.h  the same between floats and integers
//   bf16_loops, bf16_loops_body.h        the same for numbers in planes of bf16
//   half_loops, half_loops_body.h        the same for floats of 16 bits
//   integer_loops, integer_loops_body.h  the same for integers of 8 bits
//   byte_loops, byte_loops_vnni          those again where four products are added up at once
//   strassen_loops_body.h the same for Strassen's sums
//   winograd_loops_body.h the same for Winograd's transforms
//   instruction_set     what the processor has, and what of that may be used
//   loops_generic.cc, loops_avx2.cc, loops_avx512.cc
//                       the body once more for each instruction set; flags are in CMakeLists.txt
// A new elementwise loop is a line in loops.def: enumeration, table and loop follow from it.

namespace plait {

// The inner loops of the cpu backend's own kernels over contiguous floats, built once per
// instruction set and chosen when the process starts to use them: nothing is built for the machine
// that compiles. Thread-safe. A result may lie where an operand lies, but not overlap it otherwise.

// y[i] = f(x[i]; alpha, beta)
// alpha and beta are the parameters of clip (lowest, highest), elu, celu, leaky_relu, swish and
// thresholded_relu (alpha), linear and hard_sigmoid (factor, addend), selu (alpha, gamma) and
// shrink (lambd, bias) and quantize (scale, lowest: integers of 8 bits, less their zero point, as
// floats); the other loops ignore them.
enum class UnaryLoop : uint8_t {
#define PLAIT_UNARY_LOOP(name, expression) k##name,
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_UNARY_LOOP
};

// y[i] = f(a[i], b[i])
// Both operands have the size of the result: broadcasting is the caller's, row by row.
enum class BinaryLoop : uint8_t {
#define PLAIT_BINARY_LOOP(name, expression) k##name,
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_BINARY_LOOP
};

// y[i] = a[i] op b[i], as 0 or 1
// A comparison with a NaN is 0, kEqual too.
enum class CompareLoop : uint8_t { kEqual, kGreater, kGreaterOrEqual, kLess, kLessOrEqual, kCount };

// How many lines of each kind loops.def has: the tables' sizes.
constexpr int kUnaryLoopCount = 0
#define PLAIT_UNARY_LOOP(name, expression) +1
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_UNARY_LOOP
    ;
constexpr int kBinaryLoopCount = 0
#define PLAIT_BINARY_LOOP(name, expression) +1
#include "gpu_worker/backends/cpu/loops/loops.def"
#undef PLAIT_BINARY_LOOP
    ;

// Rows of numbers in planes: in bf16 (see bf16_loops.h), or as digits, x[i] = scale * (d0 + d1 /
// 256
// + d2 / 256^2), from -128 to 127 in bytes (see microkernel/digit_microkernel.h).
struct PlaneRows {
  const float* x;
  int64_t x_row_floats;  // from one row to the next
  int64_t rows;
  int64_t size;          // of a row
  int64_t plane_size;    // numbers of a row of a plane, those behind `size` being 0
  std::byte* planes[3];  // the first of them that are wanted, the others being nullptr
  int64_t stride_bytes;  // from one row of a plane to the next
  // Of digits: the scale of all rows, with which no |x[i]| is above 127 * scale; 0: each row has
  // its own, which makes its largest number 127.
  float common_scale = 0;
  // By row, where each has its own: 0 for zeros, and kNoDigitScale where a row has an infinity or a
  // NaN or nothing above 1e-30: its digits mean nothing.
  float* scales = nullptr;
  // Where each row has its own scale: the places of its numbers that are far larger than the others
  // and would take all digits for themselves. They are none of the scale's, and their digits are 0.
  // Up to `outliers_max` for each row, the largest of them. nullptr: not looked for.
  int32_t* outliers = nullptr;
  int outliers_max = 0;
  int32_t* outlier_counts = nullptr;
};
constexpr float kNoDigitScale = -1.0f;

// y[n] += x * scales[n] * (d0 + d1 / 256 + (d2 + rest / 128) / 256^2)[n] for the columns of a
// block, where digits and rests are those of one place of the depth (see RightDigitOffset).
struct DigitNumber {
  float x;
  const int8_t* digits;  // of the four places around it: [plane][columns / 16][16 x 64]
  const int8_t* rests;   // likewise, of one plane
  int place;             // among the four
  int planes;            // of digits; the rests are those of the last one
  int columns;
  const float* scales;
  float* y;
};

// The largest magnitude, and the sum of all; of no elements 0, and NaN where one is NaN.
struct Magnitudes {
  float largest;
  float sum;
};

// The sum of the magnitudes that are no larger than a limit, and how many they are.
struct UsualMagnitudes {
  float sum;
  float count;
};

// When numbers are outliers: their largest must be more than so many times their mean, and more
// than so many times as large as is usual, which is the mean of those up to twice the mean of all
// (a single number that is large enough moves the mean, and is then left out). An outlier is larger
// than that; where there are more than one cares to keep, larger than twice or four times that.
constexpr float kOutlierMeans = 8;
constexpr float kOutlierUsuals = 256;

// A tile of a product of numbers in digits, from the exact sums of its levels:
// y[m, n] = row_scales[m] * column_scales[n] * (sums0 + sums1 / 256 + ...)[m, n] + bias[n]
struct DigitSums {
  const int32_t* sums;    // of each level [rows / 16][columns / 16][16][16], both rounded up
  int64_t level_numbers;  // from one level to the next
  int levels;             // at least 1
  int rows;
  int columns;
  const float* row_scales;
  const float* column_scales;
  const float* bias;  // nullptr: none
  float* y;
  int64_t y_row_floats;  // from one row of y to the next
};

// Pixels of an image in channels-last, each made of the pixels of another one under a window, by
// channels; all windows have the same taps. There are at least 16 channels.
struct WindowPixels {
  const float* x = nullptr;      // under the first tap of the first pixel
  int64_t x_pixel_floats = 0;    // from one pixel's window to the next one's
  int64_t x_tap_floats[2] = {};  // from one row of taps to the next, and from one tap of a row
  int64_t taps[2] = {};          // rows, and taps of a row
  float* y = nullptr;
  int64_t y_pixel_floats = 0;  // from one pixel to the next
  int64_t pixels = 0;
  int64_t channels = 0;
};

// Of a depthwise convolution: y[pixel, c] = bias[c] + sum over taps of x[pixel, tap, c] *
// weights[tap, c], each sum in the order of the taps.
struct DepthwisePixels : WindowPixels {
  const float* weights = nullptr;
  int64_t weights_row_floats = 0;  // from one row of taps to the next; those of a row are adjacent
  const float* bias = nullptr;     // nullptr: none
};

// Some pixels of a row of such an image, whose windows may reach into the padding on both sides.
// They move by 1 or 2. Channels are at least a vector.
struct WindowRow {
  const float* x = nullptr;  // the row of the source under the first row of taps
  int64_t x_row_floats = 0;  // from one row of taps to the next
  int64_t x_pixel_floats = 0;
  int64_t columns = 0;  // pixels of a row of the source
  int64_t column = 0;   // of the source, under the first tap of the first pixel; may be in padding
  int64_t row_taps = 0;
  int64_t taps = 0;  // of a row
  int64_t stride = 1;
  float* y = nullptr;
  int64_t y_pixel_floats = 0;
  int64_t pixels = 0;
  int64_t channels = 0;
};

// Of a depthwise convolution, with 3, 5 or 7 taps in a row; the sums are those of DepthwisePixels.
struct DepthwiseRow : WindowRow {
  // [vector of channels][row of taps][tap][channel], at the first row of taps; where the channels
  // are no multiple of a vector, the last one overlaps the one before it.
  const float* weights = nullptr;
  int64_t weights_vector_floats = 0;  // from one vector to the next
  const float* bias = nullptr;        // nullptr: none
};

inline bool HasDepthwiseRow(int64_t taps, int64_t stride) {
  return (taps == 3 || taps == 5 || taps == 7) && (stride == 1 || stride == 2);
}

// Of a pool, with 3 taps in a row.
struct PoolRow : WindowRow {
  const float* divisors = nullptr;  // of the sum of each pixel
};

inline bool HasPoolRow(int64_t taps, int64_t stride) {
  return taps == 3 && (stride == 1 || stride == 2);
}

// Of a convolution in groups of equally many source and result channels, a power of two from 2 to
// any: y[pixel, c] = bias[c] + sum over taps, and over the channels s of c's group, of x[pixel,
// tap, s] * weight. The channels are a multiple of 16. The weights of a vector of result channels
// lie together: float f of vector v is number ((v * taps of the whole window + tap) *
// group_channels + place of s in its group) * floats of a vector + f; `weights` is at the first tap
// of vector 0.
struct GroupedPixels : WindowPixels {
  const float* weights = nullptr;
  int64_t weights_row_floats = 0;     // from one row of taps to the next
  int64_t weights_vector_floats = 0;  // from one vector to the next
  const float* bias = nullptr;        // nullptr: none
  int64_t group_channels = 0;
};

// Pixels of an image in channels-last, each a weighted sum of pixels of another one: of some rows,
// and of some pixels of each, which lie alike in all of them. There may be any number of channels:
// a row of a plane is a pixel with its columns as channels.
struct ResampledPixels {
  const float* x = nullptr;
  const int64_t* row_offsets = nullptr;  // from x, in floats
  const float* row_weights = nullptr;
  int64_t row_taps = 0;
  const int64_t* column_offsets = nullptr;  // those of each pixel behind those of the one before
  const float* column_weights = nullptr;
  int64_t column_taps = 0;  // of a pixel
  float* y = nullptr;
  int64_t y_pixel_floats = 0;  // from one pixel to the next
  int64_t pixels = 0;
  int64_t channels = 0;
};

// Winograd's algorithm for windows of 3x3 (S. Winograd, Arithmetic Complexity of Computations,
// 1980; A. Lavin and S. Gray, Fast Algorithms for Convolutional Neural Networks, 2016): a tile of n
// x n pixels of the result is made of (n + 2) x (n + 2) pixels of the source. Both are transformed,
// rows and columns alike, and between the transforms each of the (n + 2)^2 elements of a tile is
// a product of its own. There are at least 16 channels.
enum class WinogradTile : uint8_t { kTwo, kFour, kCount };  // n

// Of n = 4: the positive ones of the points at which polynomials are evaluated, beside 0, the
// negative ones and infinity. Their powers up to the third are exact. The usual 1 and 2 lose five
// times as much. (n = 2 has 0, 1, -1 and infinity.)
constexpr float kWinogradPoints[2] = {0.625f, 1.5f};

// y[element, c] = the transform of a tile's pixels.
struct WinogradPixels {
  const float* const* x;  // the pixels by rows, each with its channels; nullptr: a pixel of zeros
  float* y;               // of element 0
  int64_t y_element_floats;  // from one element to the next
  int64_t channels;
};

// y[pixel, c] = bias[c] + the inverse transform of a tile's elements, or the bound that this is
// beyond; a NaN stays one.
struct WinogradSums {
  const float* x;  // of element 0
  int64_t x_element_floats;
  const float* bias;  // nullptr: none
  float lowest;
  float highest;
  float* const* y;  // the pixels by rows; nullptr: not wanted
  int64_t channels;
};

// Strassen's algorithm (V. Strassen, Gaussian Elimination is not Optimal, 1969): with both matrices
// in quarters, seven products of sums of quarters make the quarters of the result, not eight.
constexpr int64_t kStrassenProducts = 7;

// What is multiplied on the left, of a row of the upper half and one of the lower:
// y[product, i] = the sum of quarters. Each row has 2 * size numbers.
struct StrassenPair {
  const float* x[2];
  float factors[2];  // that the rows are multiplied by first
  float* y;          // of product 0
  int64_t y_product_floats;
  int64_t size;
};

// A piece of both rows of the result: y[row][half][i] = row_factors[row] * factors[half][i] * (a
// sum of products)[i] + bias[half][i]
struct StrassenSums {
  const float* x;  // of product 0
  int64_t x_product_floats;
  float row_factors[2];
  const float* factors[2];
  const float* bias[2];
  float* y[2][2];
  int64_t size;  // of a half
};

// Functions over `size` contiguous elements. No alignment is asked for. `size` may be 0. Pointers
// are not owned and not kept.
//
// The tables may differ from each other in the last bits, since AVX2 and AVX-512 fuse a
// multiplication with the addition behind it. Sums also depend on the width of the vectors, which
// decides the order of additions. So a measurement or a plan of one instruction set is not one of
// another.
struct LoopTable {
  // The four shapes of loops that a table has many of.
  using Unary = void (*)(const float* x, float* y, int64_t size, float alpha, float beta);
  using Binary = void (*)(const float* a, const float* b, float* y, int64_t size);
  using Compare = void (*)(const float* a, const float* b, int64_t* y, int64_t size);
  using Reduce = float (*)(const float* x, int64_t size);

  // "generic", "avx2" or "avx512": for the device's description and for tests.
  const char* instruction_set;
  // Indexed by the enumerations above.
  Unary unary[kUnaryLoopCount];
  Binary binary[kBinaryLoopCount];
  Compare compare[static_cast<int>(CompareLoop::kCount)];
  // y = x * scale + shift, elementwise.
  void (*multiply_add)(const float* x, const float* scale, const float* shift, float* y,
                       int64_t size);
  // y = condition ? a : b
  // Any condition but 0 is true.
  void (*select)(const int64_t* condition, const float* a, const float* b, float* y, int64_t size);
  // Over all elements. The order of a sum is the instruction set's, so its last bits are too.
  // Of no elements: 0, minus infinity, plus infinity. A NaN anywhere makes the result NaN.
  Reduce sum;
  Reduce maximum;
  Reduce minimum;
  Reduce sum_of_squares;
  // Of exp(x[i] - shift).
  float (*sum_of_exponentials)(const float* x, int64_t size, float shift);
  // Multiply-adds that wait for nothing but the processor: `steps` times as many as
  // multiply_adds_per_step says, all in registers. The result means nothing.
  float (*chain_multiply_adds)(int64_t steps);
  int64_t multiply_adds_per_step;
  void (*softmax_row)(const SoftmaxRow& row);
  SoftmaxPart (*softmax_part)(const SoftmaxRow& row);
  void (*normalization_row)(const NormalizationRow& row);
  // y = x / sqrt(mean of x^2 + epsilon) * scale; the bias is not read.
  void (*root_mean_square_row)(const NormalizationRow& row);
  void (*turn_pairs)(const TurnedPairs& row);
  // By [largest][last]: where x is better than `best`, or as good and the last is wanted, it
  // becomes that, and `place` its place. A NaN is better than any number.
  void (*best_columns[2][2])(const float* x, int32_t place, float* best, int32_t* places,
                             int64_t size);
  void (*split_rows)(const PlaneRows& rows);
  // Of a row whose largest magnitude this is: see DigitRows::scales.
  float (*digit_scale)(float largest);
  Magnitudes (*magnitudes)(const float* x, int64_t size);
  UsualMagnitudes (*usual_magnitudes)(const float* x, int64_t size, float limit);
  void (*add_number)(const DigitNumber& number);
  void (*join_sums)(const DigitSums& tile);
  void (*depthwise_pixels)(const DepthwisePixels& pixels);
  void (*depthwise_row)(const DepthwiseRow& row);
  void (*grouped_pixels)(const GroupedPixels& pixels);
  int vector_floats;
  // The largest number under each window, of none minus infinity; a NaN is greater than nothing.
  void (*largest_pixels)(const WindowPixels& pixels);
  // The sum over each window, divided.
  void (*mean_pixels)(const WindowPixels& pixels, float divisor);
  // The same of a row.
  void (*largest_row)(const PoolRow& row);
  void (*mean_row)(const PoolRow& row);
  void (*resampled_pixels)(const ResampledPixels& pixels);
  // Indexed by WinogradTile. The first returns the magnitudes of what it reads, in which some
  // channels of the last vector count twice. The second says whether all pixels, wanted or not,
  // were finite before the bounds.
  Magnitudes (*winograd_pixels[static_cast<int>(WinogradTile::kCount)])(const WinogradPixels& tile);
  bool (*winograd_sums[static_cast<int>(WinogradTile::kCount)])(const WinogradSums& tile);
  HalfLoops halves;
  IntegerLoops integers;
  Bf16Loops bf16;
  ConversionLoops conversions;
  void (*strassen_pair)(const StrassenPair& rows);
  void (*strassen_sums)(const StrassenSums& sums);
  // By a matrix [depth][columns], and by one [columns][depth]; none of the three is 0.
  void (*rows_by_row_major)(const RowsProduct& product);
  void (*rows_by_transposed)(const RowsProduct& product);
};

// The widest of the three that the processor has: AVX-512 (F, BW, VL and DQ), else AVX2 with FMA.
// Cheap: it tests bits that were read when the process started. The answer never changes.
const LoopTable& Loops();

// Loops() for images of at least its vectors' channels; for fewer the table of narrower vectors, or
// nullptr where no table has such narrow ones.
const LoopTable* LoopsOfChannels(int64_t channels);

// The table of each instruction set; only Loops(), LoopsOfChannels() and tests call them.
// REQUIRES: the processor has the instruction set.
const LoopTable& GenericLoops();
const LoopTable& Avx2Loops();
const LoopTable& Avx512Loops();

}  // namespace plait
