#include "optimizer/search/kept_plans.h"

#include <algorithm>
#include <map>
#include <set>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/kernels/device.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/same_interface.h"
#include "optimizer/search/segments.h"

namespace plait {
namespace {

// 8 MiB a text and 64 MiB in all: NasNet-large takes 0.5 MiB a plan. Less than who runs a plan
// reads, since here a stranger's plan is only passed on.
constexpr int64_t kKeptTextBytesMax = int64_t{8} << 20;
constexpr int64_t kKeptTextsBytesMax = int64_t{64} << 20;
// 1 KiB: what a report tells of a device.
constexpr size_t kFingerprintBytesMax = 1024;
constexpr size_t kReasonBytesMax = 300;
// 8: further ones are told as one, so that a file cannot fill a report.
constexpr size_t kReasonsMax = 8;
constexpr absl::string_view kFurtherReasons = "for further reasons";

constexpr char kOtherBody[] =
    "the model's nodes, weights or inputs are not those that the plan was made from";

// A stranger's words may be in a reason, and a terminal may get it.
std::string Printable(absl::string_view text) {
  std::string printable(text.substr(0, kReasonBytesMax));
  for (char& c : printable) {
    if (!absl::ascii_isprint(static_cast<unsigned char>(c))) c = '?';
  }
  return printable;
}

std::string KeyText(absl::string_view device_fingerprint, int threads,
                    absl::string_view made_from) {
  return absl::StrCat(FingerprintWithThreads(device_fingerprint, threads), " ", threads, " ",
                      made_from);
}

// Nobody rewrote a graph that does not say what it was made from.
std::string MadeFrom(const EmbeddedPlan& plan, const Plan& header) {
  return plan.original.empty() ? header.graph_fingerprint : plan.original;
}

// Whether the source has every weight that constants of the graph are or are computed from. An
// expression may be part of many others, and is looked at once.
class WeightCheck {
 public:
  explicit WeightCheck(const WeightSource& weights) : weights_(weights) {}

  absl::Status Check(const Graph& graph) {
    for (const TensorInfo& tensor : graph.tensors()) {
      if (tensor.constant != nullptr) PLAIT_RETURN_IF_ERROR(Check(*tensor.constant));
    }
    return absl::OkStatus();
  }

 private:
  // As deep as kConstantDepthMax.
  absl::Status Check(const Constant& constant) {
    if (!seen_.insert(&constant).second) return absl::OkStatus();
    if (const auto* const weight = std::get_if<Constant::Weight>(&constant.value())) {
      return weights_.Get(weight->digest, constant.type()).status();
    }
    if (const auto* const apply = std::get_if<Constant::Apply>(&constant.value())) {
      for (const ConstantRef& input : apply->inputs) {
        if (input != nullptr) PLAIT_RETURN_IF_ERROR(Check(*input));
      }
    }
    return absl::OkStatus();
  }

  const WeightSource& weights_;
  absl::flat_hash_set<const Constant*> seen_;
};

// Two plans for x of [1, 8] and of [2, 8], one of them changed by a tool. Each says of which shapes
// it is; the model is bound to [1, 8] and to [2, 8], and a plan whose `original` is one of these
// graphs is looked at closely. What no graph has made is for another model.
class KeptPlansReader {
 public:
  KeptPlansReader(const Model& model, const Bindings& given) : model_(model), given_(given) {}

  KeptPlans Run(int64_t file_bytes) {
    const EmbeddedPlanLimits limits = {.text_bytes_max = kKeptTextBytesMax,
                                       .texts_bytes_max = kKeptTextsBytesMax,
                                       .packed_bytes_max = PlanBytesMax(file_bytes)};
    const auto embedded = ReadEmbeddedPlans(model_, limits);
    if (!embedded.ok()) {
      return {{},
              {absl::StrCat("the plans that the model came with are left out: ",
                            Printable(embedded.status().message()))}};
    }
    for (const absl::StatusOr<EmbeddedPlan>& plan : *embedded) {
      Entry& entry = entries_.emplace_back();
      entry.status = plan.ok() ? ReadHeader(*plan, &entry) : plan.status();
    }
    for (const Bindings& shapes : shapes_) Match(shapes);
    return Result();
  }

 private:
  struct Entry {
    KeptPlan plan;
    std::string made_from;
    bool is_open = false;  // nothing is wrong with it, as far as it was looked at
    bool is_matched = false;
    absl::Status status;
  };

  // What can be said without the model.
  absl::Status ReadHeader(const EmbeddedPlan& embedded, Entry* entry) {
    KeptPlan& plan = entry->plan;
    PLAIT_ASSIGN_OR_RETURN(plan.header, ParsePlanHeader(embedded.plan));
    if (plan.header.device_fingerprint.size() > kFingerprintBytesMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("its device has a name of more than ", kFingerprintBytesMax, " bytes"));
    }
    PLAIT_ASSIGN_OR_RETURN(const Graph graph, ParseTypedGraph(embedded.graph));
    if (graph.fingerprint().ToString() != plan.header.graph_fingerprint) {
      return absl::FailedPreconditionError("it is for another graph than the one beside it");
    }
    for (const TensorId input : graph.inputs()) {
      const auto& name = graph.tensor(input).name;
      if (name != nullptr) plan.inputs.emplace_back(*name, graph.type(input).shape);
    }
    plan.texts = embedded;
    plan.device_fingerprint =
        FingerprintWithThreads(plan.header.device_fingerprint, plan.header.threads);
    entry->made_from = MadeFrom(embedded, plan.header);
    entry->is_open = true;
    AddShapes(plan);
    return absl::OkStatus();
  }

  // The inputs that the plan reads have its shapes, and dimensions of the same names its sizes.
  void AddShapes(const KeptPlan& plan) {
    Bindings shapes = given_;
    absl::flat_hash_map<std::string, int64_t> sizes;
    const std::map<std::string, Shape> inputs(plan.inputs.begin(), plan.inputs.end());
    for (const ModelValue& input : model_.inputs()) {
      const auto found = inputs.find(input.name);
      if (found == inputs.end() || found->second.size() != input.shape.size()) continue;
      for (size_t axis = 0; axis < input.shape.size(); ++axis) {
        if (!input.shape[axis].known()) sizes[input.shape[axis].symbol] = found->second[axis];
      }
      shapes[input.name] = found->second;
    }
    for (const ModelValue& input : model_.inputs()) {
      const auto shape = shapes.find(input.name);
      if (inputs.contains(input.name) || shape == shapes.end()) continue;
      for (size_t axis = 0; axis < std::min(shape->second.size(), input.shape.size()); ++axis) {
        const auto size = sizes.find(input.shape[axis].symbol);
        const bool is_named = !input.shape[axis].symbol.empty();
        if (is_named && size != sizes.end()) shape->second[axis] = size->second;
      }
    }
    if (std::find(shapes_.begin(), shapes_.end(), shapes) == shapes_.end()) {
      shapes_.push_back(std::move(shapes));
    }
  }

  void Match(const Bindings& shapes) {
    const auto is_open = [](const Entry& entry) { return entry.is_open && !entry.is_matched; };
    if (std::none_of(entries_.begin(), entries_.end(), is_open)) return;
    const absl::StatusOr<std::vector<Graph>> parts = PlannedParts(model_, shapes);
    if (!parts.ok()) return;
    for (const Graph& part : *parts) {
      const std::string fingerprint = part.fingerprint().ToString();
      for (Entry& entry : entries_) {
        if (!is_open(entry) || entry.made_from != fingerprint) continue;
        entry.is_matched = true;
        entry.status = CheckFor(part, entry.plan.texts);
      }
    }
  }

  absl::Status CheckFor(const Graph& part, const EmbeddedPlan& texts) const {
    PLAIT_ASSIGN_OR_RETURN(const Graph graph, ParseTypedGraph(texts.graph));
    if (graph.node_count() > kSearchNodesMax) {
      return absl::ResourceExhaustedError(absl::StrCat("its graph has ", graph.node_count(),
                                                       " nodes, and may have ", kSearchNodesMax));
    }
    if (!HaveSameInterface(graph, part)) {
      return absl::FailedPreconditionError("it has other inputs or outputs than the model");
    }
    const ModelWeights weights = model_.weights();
    PLAIT_RETURN_IF_ERROR(WeightCheck(weights).Check(graph));
    PLAIT_ASSIGN_OR_RETURN(const Plan plan, ParsePlan(texts.plan));
    return CheckPlan(plan, graph);
  }

  // Why plans are left out, with their numbers.
  using Reasons = std::vector<std::pair<std::string, std::vector<size_t>>>;

  static void AddReason(absl::string_view why, size_t number, Reasons* reasons) {
    for (auto& [known, numbers] : *reasons) {
      if (known == why || known == kFurtherReasons) return numbers.push_back(number);
    }
    if (reasons->size() + 1 == kReasonsMax) why = kFurtherReasons;
    reasons->push_back({std::string(why), {number}});
  }

  KeptPlans Result() {
    KeptPlans result;
    std::set<std::string> keys;
    Reasons reasons;
    for (size_t i = 0; i < entries_.size(); ++i) {
      Entry& entry = entries_[i];
      if (entry.is_open && !entry.is_matched) {
        entry.status = absl::FailedPreconditionError(kOtherBody);
      }
      if (!entry.status.ok()) {
        AddReason(Printable(entry.status.message()), i + 1, &reasons);
      } else if (keys.insert(PlanKey(entry.plan.texts)).second) {
        result.plans.push_back(std::move(entry.plan));
      }
    }
    for (const auto& [why, which] : reasons) {
      result.warnings.push_back(absl::StrCat(which.size() == 1 ? "plan " : "plans ",
                                             absl::StrJoin(which, ", "),
                                             " of those that the model came with ",
                                             which.size() == 1 ? "is" : "are", " left out: ", why));
    }
    return result;
  }

  const Model& model_;
  const Bindings& given_;
  std::vector<Entry> entries_;
  std::vector<Bindings> shapes_;  // that plans are for
};

}  // namespace

KeptPlans ReadKeptPlans(const Model& model, int64_t file_bytes, const Bindings& given) {
  return KeptPlansReader(model, given).Run(file_bytes);
}

std::string PlanKey(const EmbeddedPlan& plan) {
  const absl::StatusOr<Plan> header = ParsePlanHeader(plan.plan);
  PLAIT_CHECK(header.ok());
  return KeyText(header->device_fingerprint, header->threads, MadeFrom(plan, *header));
}

std::string PlanKey(absl::string_view device_fingerprint, int threads, const Graph& made_from) {
  return KeyText(device_fingerprint, threads, made_from.fingerprint().ToString());
}

std::vector<const KeptPlan*> KeptBeside(absl::Span<const EmbeddedPlan> made,
                                        absl::Span<const KeptPlan> kept) {
  std::set<std::string> keys;
  for (const EmbeddedPlan& plan : made) keys.insert(PlanKey(plan));
  std::vector<const KeptPlan*> beside;
  for (const KeptPlan& plan : kept) {
    if (!keys.contains(PlanKey(plan.texts))) beside.push_back(&plan);
  }
  return beside;
}

absl::StatusOr<std::vector<Graph>> PlannedParts(const Model& model, const Bindings& shapes) {
  PLAIT_ASSIGN_OR_RETURN(Bound bound, Bind(model, shapes));
  const auto nodes = bound.graph.nodes();
  const bool has_opaque_nodes = std::any_of(
      nodes.begin(), nodes.end(), [](const Node& node) { return node.op == OpKind::kOpaque; });
  if (has_opaque_nodes) return IslandsOf(bound.graph);
  return std::vector<Graph>{std::move(bound.graph)};
}

}  // namespace plait
