#pragma once

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"
#include "optimizer/ir/text.h"

namespace plait {

inline const TensorType kFloats{DataType::kFloat32, {4}};

// The graph of a text that the test itself wrote.
inline Graph GraphOf(absl::string_view text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status() << "\n" << text;
  return graph.ok() ? *std::move(graph) : Graph();
}

// A graph text around `body`, with one input %x: float32[4].
inline std::string AroundX(absl::string_view body) {
  std::string text = "graph {\n  input %x: float32[4]\n";
  text.append(body.data(), body.size());
  text.append("}\n");
  return text;
}

// The tensor of this name; kNoTensor when there is none.
inline TensorId Find(const Graph& graph, absl::string_view name) {
  for (TensorId id = 0; id < graph.tensor_count(); ++id) {
    if (*graph.tensor(id).name == name) return id;
  }
  return kNoTensor;
}

}  // namespace plait
