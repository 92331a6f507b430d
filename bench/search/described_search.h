#pragma once

#include <string>

#include "absl/status/statusor.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/onnx/model.h"
#include "optimizer/search/optimize.h"

namespace plait {

// The normal form of the model in a file, at its own shapes. Errors: those of import and Bind.
absl::StatusOr<Graph> NormalFormOf(const std::string& path);

// The model in a file as it came in, and its graph at its own shapes.
struct DescribedModel {
  Model model;
  Graph graph;
};

// Errors: those of import and Bind.
absl::StatusOr<DescribedModel> DescribedModelOf(const std::string& path);

// What a search finds for a device that is only described, by predicted times and without a limit
// of time. Outputs are taken for equal: rules are proven elsewhere. Equal arguments give equal
// results, whatever the number of threads. Errors: those of Optimize.
absl::StatusOr<SearchResult> SearchDescribed(const Graph& graph, const DescribedDevice& described,
                                             PredictionDetail detail, int threads = 1,
                                             RuleList rules = AllRules());

// The same by other options, of which the rules are AllRules() where there are none.
absl::StatusOr<SearchResult> SearchDescribed(const Graph& graph, const DescribedDevice& described,
                                             PredictionDetail detail, SearchOptions options);

// The same for two threads of a processor with AVX-512, by PredictedProfiler.
absl::StatusOr<SearchResult> SearchPredicted(const Graph& graph, RuleList rules);

}  // namespace plait
