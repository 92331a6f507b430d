#pragma once

#include "optimizer/ir/graph.h"

namespace plait {

// Whether a two-dimensional convolution of one group multiplies pixels as they are: each pixel of
// the result is made of one of the input, and rows of them lie at equal distances, across images
// too. Then pixels in channels-last are rows of a matrix product.
bool IsPointwise(const Graph& graph, NodeId conv);

// Whether the node is a convolution of images of fp32 whose weights and bias are constants.
bool IsImageConvolution(const Graph& graph, NodeId node);

// Whether it is one of one group that makes each pixel of the one at its place.
bool IsPixelByPixel(const Graph& graph, NodeId node);

}  // namespace plait
