#pragma once

#include <optional>
#include <vector>

#include "optimizer/rules/patterns/graph_queries.h"
#include "optimizer/rules/patterns/rewrite_builder.h"

namespace plait {

// A two-dimensional convolution with constant weights, its attributes spelled out: how rules see
// one and, changed, write another.
struct ConvView {
  TensorId x;
  TensorId w;  // [output channels, input channels / group, kernel height, kernel width]
  TensorId b;  // [output channels], or kNoTensor
  std::vector<int64_t> strides;    // height, width
  std::vector<int64_t> dilations;  // height, width
  std::vector<int64_t> pads;       // top, left, bottom, right
  int64_t group;
  int64_t output_channels;
  int64_t kernel_height;
  int64_t kernel_width;

  // Attributes for a convolution with these values and the kernel of the weight.
  Attributes ToAttributes() const;
};

// nullopt unless the node is a float32 Conv over four dimensions with constant weights (and bias)
// and explicit pads; tells which of that a Conv is not.
std::optional<ConvView> ViewConv(const Graph& graph, NodeId node, Misses misses = {});

// True when the two differ in weights, bias, kernel and pads only: they may be merged.
bool SameSteps(const ConvView& a, const ConvView& b);

// True when the convolution only mixes channels: kernel 1x1, stride 1, no padding, one group.
bool IsPointwise(const ConvView& conv);

// A convolution and the constant per output channel (or of one element) that the node, its only
// reader, combines with its result.
struct ConvThenConstant {
  ConvView conv;
  TensorId constant;
};

// Reads the two operands of a binary node so; nullopt when they are something else.
std::optional<ConvThenConstant> ConvThenPerChannel(const Graph& graph, NodeId node,
                                                   Misses misses = {});

// The bias, or zeros where there is none.
TensorId BiasOrZeros(RewriteBuilder* builder, const ConvView& conv);

// A per-channel (or one-element) constant as a vector of `channels` elements; fails the builder
// when it cannot be. REQUIRES: IsPerChannel held for it.
TensorId AsChannelVector(RewriteBuilder* builder, TensorId constant, int64_t channels);

}  // namespace plait
