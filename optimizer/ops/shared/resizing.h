#pragma once

#include <cstddef>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/ops/shared/resize_taps.h"

namespace plait {

// The attribute that says where on the input an element of the output lies.
constexpr absl::string_view kCoordinatesAttribute = "coordinate_transformation_mode";
// The inputs of Resize behind the data. Either scales or sizes are there; an empty tensor says the
// same as none, because opset 11 could not omit them.
constexpr size_t kResizeRoi = 1;
constexpr size_t kResizeScales = 2;
constexpr size_t kResizeSizes = 3;

// A use of Resize, as its attributes and inputs describe it.
struct Resizing {
  Resampling resampling;
  double extrapolation_value = 0;  // of what lies outside of the input that is cropped
  std::vector<ResizedAxis> axes;   // all of them, also those that stay as they are
};

// Errors: Unimplemented when scales, sizes or the region that a crop takes are not inline
// constants; InvalidArgument for unknown words, lists of the wrong length, scales that are not
// positive, and dimensions beyond all limits.
absl::StatusOr<Resizing> ReadResizing(const OpCall& call);

// The same of a node of a graph. REQUIRES: its operator is Resize.
absl::StatusOr<Resizing> ReadResizing(const Graph& graph, NodeId node);

}  // namespace plait
