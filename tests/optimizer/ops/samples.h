#pragma once

#include <string>
#include <vector>

namespace plait {

// One use of an operator, as lines of graph text: what comes before the node, the node, and the
// types of its outputs as they must be inferred.
struct OperatorSample {
  std::string op;       // its ONNX name
  std::string tensors;  // lines of inputs and constants
  std::string node;
  std::string types;
};

// What lies in tests/optimizer/ops/samples, one file for each operator, in the order of the files'
// names: samples parted by empty lines, the last line of each being "types: ". A file that is none
// ends the program.
const std::vector<OperatorSample>& OperatorSamples();

// The sample as a graph with the outputs of its node (%y, and %y1, %y2 where it has them).
std::string GraphTextOf(const OperatorSample& sample);

}  // namespace plait
