#pragma once

#include <optional>

#include "optimizer/ir/graph.h"

namespace plait {

// A product of rows that lie one behind the other by a constant matrix, in floats.
struct ConstantProduct {
  int64_t rows = 0;
  int64_t depth = 0;
  int64_t columns = 0;
  // Number k, n of the matrix is float k * right_row_floats + n * right_column_floats.
  int64_t right_row_floats = 0;
  int64_t right_column_floats = 0;
};

// MatMul and Gemm whose second input is a constant matrix, and whose third, if there is one, a
// constant vector that is added to each row. All of the left side's leading axes are rows.
// nullopt: the node is anything else. Pure, as all here.
std::optional<ConstantProduct> ConstantProductAt(const Graph& graph, NodeId node);

// A convolution by constant weights that makes each pixel of the one at its place: in channels-last
// the pixels are rows.
std::optional<ConstantProduct> PixelProductAt(const Graph& graph, NodeId node);

}  // namespace plait
