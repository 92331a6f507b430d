#pragma once

namespace plait {

// How far a kernel that computes in other numbers than fp32 is from the exact result of one layer,
// a convolution or product with constant weights, and how far a serial fp32 sum is, which adds up
// one product after the other: what any fp32 library may do. Both against float64, at some thousand
// elements of the result. An error is the largest difference of a channel (of a convolution) or row
// (of a product) relative to the largest exact value of the same, or, where these have few
// elements, to what such sums usually are; the worst of all of them counts.
struct LayerError {
  // With the layer's own weights, on what it reads when the whole model runs.
  double error = 0;
  double serial_error = 0;
  // On inputs and weights that are hard for such kernels, relative to the largest sum of
  // |input * weight| instead.
  double hard_error = 0;
  double serial_hard_error = 0;

  friend bool operator==(const LayerError&, const LayerError&) = default;
};

// The largest error of fp32 accuracy beside that of a serial fp32 sum.
double AdmittedError(double serial_error);

// fp32 accuracy: as good as a serial fp32 sum but for half as much again, or better than 1.5e-6,
// which is a dozen roundings. NaN is not.
bool IsAdmitted(const LayerError& error);

}  // namespace plait
