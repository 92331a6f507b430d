#include "optimizer/onnx/embedded_plan.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/packed_text.h"

namespace plait {
namespace {

// In the place of a graph: that of the plan of this number. No packed text begins so.
constexpr absl::string_view kSameGraph = "plan:";

std::string KeyOf(absl::string_view key, size_t number) {
  return number == 0 ? std::string(key) : absl::StrCat(key, ".", number);
}

class PlanReader {
 public:
  PlanReader(const Model& model, const EmbeddedPlanLimits& limits) : limits_(limits) {
    for (auto& [key, value] : model.metadata()) {
      if (absl::StartsWith(key, kMetadataPrefix)) entries_[key] = value;
    }
  }

  bool Has(size_t number) const {
    return entries_.contains(KeyOf(kPlanKey, number)) &&
           entries_.contains(KeyOf(kGraphKey, number)) &&
           entries_.contains(KeyOf(kVersionKey, number));
  }

  absl::StatusOr<EmbeddedPlan> Read(size_t number) {
    packed_bytes_ = 0;
    EmbeddedPlan embedded;
    embedded.version = entries_[KeyOf(kVersionKey, number)];
    PLAIT_ASSIGN_OR_RETURN(embedded.plan, Unpack(entries_[KeyOf(kPlanKey, number)]));
    absl::string_view graph = entries_[KeyOf(kGraphKey, number)];
    if (absl::ConsumePrefix(&graph, kSameGraph)) {
      size_t owner = 0;
      // One that has a text of its own, so that no chain of names has to be followed.
      if (!absl::SimpleAtoi(graph, &owner) || owner >= number ||
          absl::StartsWith(entries_[KeyOf(kGraphKey, owner)], kSameGraph)) {
        return absl::InvalidArgumentError("its graph is said to be that of a plan that has none");
      }
      graph = entries_[KeyOf(kGraphKey, owner)];
    }
    PLAIT_ASSIGN_OR_RETURN(embedded.graph, Unpack(graph));
    const auto rewrites = entries_.find(KeyOf(kRewritesKey, number));
    if (rewrites != entries_.end()) {
      PLAIT_ASSIGN_OR_RETURN(embedded.rewrites, Unpack(rewrites->second));
    }
    embedded.original = entries_[KeyOf(kOriginalKey, number)];
    return embedded;
  }

 private:
  absl::StatusOr<std::string> Unpack(absl::string_view packed) {
    packed_bytes_ += static_cast<int64_t>(packed.size());
    if (packed_bytes_ > limits_.packed_bytes_max) {
      return absl::ResourceExhaustedError(
          absl::StrCat("it takes more than ", limits_.packed_bytes_max, " bytes of the file"));
    }
    const int64_t bytes_max = std::min(limits_.text_bytes_max, limits_.texts_bytes_max - bytes_);
    PLAIT_ASSIGN_OR_RETURN(std::string text, UnpackText(packed, bytes_max));
    bytes_ += static_cast<int64_t>(text.size());
    return text;
  }

  const EmbeddedPlanLimits& limits_;
  absl::flat_hash_map<std::string, std::string> entries_;
  int64_t bytes_ = 0;         // of all texts so far
  int64_t packed_bytes_ = 0;  // of those of one plan
};

}  // namespace

std::vector<std::pair<std::string, std::string>> MetadataOf(absl::Span<const EmbeddedPlan> plans) {
  std::vector<std::pair<std::string, std::string>> entries;
  for (size_t i = 0; i < plans.size(); ++i) {
    const auto has_graph = [&](const EmbeddedPlan& plan) { return plan.graph == plans[i].graph; };
    const auto owner = static_cast<size_t>(
        std::find_if(plans.begin(), plans.begin() + i, has_graph) - plans.begin());
    entries.emplace_back(KeyOf(kVersionKey, i), plans[i].version);
    entries.emplace_back(KeyOf(kPlanKey, i), PackText(plans[i].plan));
    entries.emplace_back(KeyOf(kGraphKey, i),
                         owner < i ? absl::StrCat(kSameGraph, owner) : PackText(plans[i].graph));
    if (!plans[i].rewrites.empty()) {
      entries.emplace_back(KeyOf(kRewritesKey, i), PackText(plans[i].rewrites));
    }
    if (!plans[i].original.empty()) entries.emplace_back(KeyOf(kOriginalKey, i), plans[i].original);
  }
  return entries;
}

int64_t PlanBytesMax(int64_t file_bytes) {
  constexpr int64_t kBytes = int64_t{256} << 10;
  constexpr int64_t kPercent = 3;
  return std::max(kBytes, file_bytes / 100 * kPercent);
}

absl::StatusOr<std::vector<absl::StatusOr<EmbeddedPlan>>> ReadEmbeddedPlans(
    const Model& model, const EmbeddedPlanLimits& limits) {
  PlanReader reader(model, limits);
  std::vector<absl::StatusOr<EmbeddedPlan>> plans;
  while (reader.Has(plans.size())) {
    if (plans.size() == kPlansPerModelMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("a model may have ", kPlansPerModelMax, " plans, this one has more"));
    }
    plans.push_back(reader.Read(plans.size()));
  }
  return plans;
}

}  // namespace plait
