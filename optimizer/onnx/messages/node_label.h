#pragma once

#include <string>

#include "absl/strings/str_cat.h"
#include "optimizer/onnx/messages/messages.h"

namespace plait {

// How errors call a node: its name, or its operator and first output where it has none.
inline std::string NodeLabel(const onnx::NodeProto& node) {
  if (!node.name().empty()) return node.name();
  if (node.output.empty()) return absl::StrCat(node.op_type(), " without outputs");
  return absl::StrCat(node.op_type(), " of '", node.output[0], "'");
}

// True for the domain of ONNX's own operators, which has two spellings.
inline bool IsDefaultDomain(const std::string& domain) {
  return domain.empty() || domain == "ai.onnx";
}

}  // namespace plait
