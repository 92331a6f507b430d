#pragma once

#include <string>
#include <vector>

#include "optimizer/onnx/messages/messages.h"

namespace plait {

// The names that a node's subgraphs read from outside, in order of first appearance, each once.
// The same node always gives the same list: the inputs of an opaque node beyond its explicit ones.
std::vector<std::string> CapturedNames(const onnx::NodeProto& node);

// Every name that a node's subgraphs define; no tensor outside may take one of them.
std::vector<std::string> InnerNames(const onnx::NodeProto& node);

}  // namespace plait
