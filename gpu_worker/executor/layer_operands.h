#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "optimizer/ir/graph.h"

namespace plait {

// Whether a node is a Conv, MatMul or Gemm of float32.
bool IsLayer(const Graph& graph, NodeId node);

// A convolution or product (Conv, MatMul, Gemm of float32) as the matrices that it multiplies:
//   result[point, channel] = factor * (sum over k of left[point, k] * right[k, channel]) + addend
// A point of a convolution is a position of an image, and left[point] are the elements of the
// input that lie under the window there, which are others for each group of channels; a channel is
// one of the result. A point of a product is a row and a channel is a column; a vector is a matrix
// of one row or column. All results of a channel of an image, or of a row, lie beside each other.
// Immutable and thread-safe.
class LayerOperands {
 public:
  // For node 0 of a graph. REQUIRES: the graph passed CheckTypes, and IsLayer.
  // Errors: those of ReadWindow.
  static absl::StatusOr<std::unique_ptr<LayerOperands>> Create(const Graph& graph);

  virtual ~LayerOperands() = default;

  // The axes of all points: batch and spatial ones, or batch and rows. A point's number counts them
  // in row-major order.
  const Shape& points() const { return points_; }
  int64_t channels() const { return channels_; }
  int64_t terms() const { return terms_; }  // of each sum
  float factor() const { return factor_; }
  // How many elements of the result are of one channel of an image, or of one row: those whose
  // errors are relative to the same.
  int64_t scope_elements() const { return scope_elements_; }

  // The index among the elements of the result.
  virtual int64_t Element(int64_t point, int64_t channel) const = 0;

  // Writes left[point], terms() numbers, as `channel` sees it: zeros where the window lies on
  // padding. `input` is the node's first.
  virtual void ReadLeft(const Tensor& input, int64_t point, int64_t channel, float* left) const = 0;
  // The channel behind the last one that sees the same left[point] as `channel` does.
  virtual int64_t GroupEnd(int64_t channel) const = 0;
  // An element of the input that takes part in the result there.
  virtual int64_t InputElement(int64_t point, int64_t channel) const = 0;
  // The points, ascending, at which that element takes part in the same scope of the result.
  virtual std::vector<int64_t> PointsThatRead(int64_t point, int64_t channel) const = 0;

  // right[k, channel] is the element RightOffset(point) + k * right_term_stride() + channel *
  // right_channel_stride() of the node's second input, which holds one matrix behind the other.
  virtual int64_t RightOffset(int64_t point) const = 0;
  int64_t right_term_stride() const { return right_term_stride_; }
  int64_t right_channel_stride() const { return right_channel_stride_; }

  // What is added to the sum; `addend` is the node's third input.
  virtual double Addend(const Tensor& addend, int64_t point, int64_t channel) const = 0;

 protected:
  Shape points_;
  int64_t channels_ = 1;
  int64_t terms_ = 1;
  int64_t scope_elements_ = 1;
  int64_t right_term_stride_ = 1;
  int64_t right_channel_stride_ = 1;
  float factor_ = 1;
};

}  // namespace plait
