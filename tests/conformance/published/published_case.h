#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/onnx/bind.h"
#include "optimizer/onnx/model.h"

namespace plait {

// Where the cases lie: the folder that PLAIT_PUBLISHED_CASES names, in the layout of Debian's
// libonnx-testdata, or that itself.
std::string PublishedRoot();

// A model of ONNX's published test data with one set of inputs and the
// outputs that are expected for it.
struct PublishedCase {
  std::string name;  // "node/test_add/0": folder and data set
  std::string model_path;
  std::string data_path;  // the folder of input_<i>.pb and output_<i>.pb
};

// Every case below `root`, by name.
// Errors: NotFound when there is none.
absl::StatusOr<std::vector<PublishedCase>> FindPublishedCases(const std::string& root);

struct LoadedCase {
  Model model;
  Graph graph;
  std::vector<OpaqueNode> opaque_nodes;
  std::vector<Tensor> inputs;    // in the graph's order
  std::vector<Tensor> expected;  // in the order of the outputs
};

// Imports the model and binds it to the shapes of the inputs. Where nodes stay opaque because axes
// or shapes are inputs, integer inputs are bound as constants, which is how plait treats them; if
// that does not help, lists are too (the scales of a Resize).
// Errors: Unimplemented naming the operator and the reason when the case is not applicable, because
// nodes stay opaque or the data is no tensor that plait has; all others are failures.
absl::StatusOr<LoadedCase> LoadPublishedCase(const PublishedCase& published);

// The cases that the function above calls not applicable because of their nodes, with these nodes
// opaque and all inputs as they are given.
// Errors: Unimplemented where the data is no tensor that plait has, and for all other cases.
absl::StatusOr<LoadedCase> LoadOpaqueCase(const PublishedCase& published);

}  // namespace plait
