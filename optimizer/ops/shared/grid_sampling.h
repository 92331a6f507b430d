#pragma once

#include <array>
#include <cstdint>

#include "absl/status/statusor.h"
#include "optimizer/ir/graph.h"

// How GridSample reads X at positions between its elements: shared by its evaluation and kernels.
namespace plait {

struct GridSampling {
  enum class Mode { kNearest, kLinear, kCubic };
  // What lies beyond the first and the last element.
  enum class Padding { kZeros, kBorder, kReflection };

  Mode mode = Mode::kLinear;
  Padding padding = Padding::kZeros;
  bool aligns_corners = false;
};

// Errors: InvalidArgument for a name that GridSample does not know.
absl::StatusOr<GridSampling> ReadGridSampling(const Attributes& attributes);

// The elements that a sample reads along one axis at most.
int64_t TapsOf(const GridSampling& sampling);

// What a sample reads along one axis: elements (-1: none, a zero) and their weights.
struct GridTaps {
  std::array<int64_t, 4> elements = {-1, -1, -1, -1};
  std::array<double, 4> weights = {};
  int count = 1;
};

// One axis of X.
class SampledAxis {
 public:
  // `extent`: of the axis, at least 1.
  SampledAxis(const GridSampling& sampling, int64_t extent);

  // From a number of the grid of type `dtype`, where -1 and 1 are the ends of the axis. NaN is
  // beyond the first.
  GridTaps At(double number, DataType dtype) const;

 private:
  double Position(double number, DataType dtype) const;
  int64_t ElementAt(int64_t index) const;

  GridSampling sampling_;
  int64_t extent_;
  double low_;
  double high_;
};

}  // namespace plait
