#include "loading/load_segments.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "loading/default_plan.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/loaded_bytes.h"
#include "optimizer/search/segments.h"

namespace plait {
namespace {

constexpr char kPredicted[] =
    "; kernels are chosen by predicted times (optimize the model on this machine with `plait "
    "optimize`)";

// The plans of the file by what they are for, each parsed once: every island looks for its own.
class PlansOfParts {
 public:
  explicit PlansOfParts(absl::Span<const FilePlan> plans) {
    for (const FilePlan& plan : plans) {
      if (!plan.status.ok()) continue;
      absl::StatusOr<Graph> graph = ParseTypedGraph(plan.texts.graph);
      if (graph.ok()) plans_.emplace_back(*std::move(graph), &plan);
    }
  }

  std::vector<FilePlan> For(const Graph& island) const {
    std::vector<FilePlan> found;
    for (const auto& [graph, plan] : plans_) {
      if (HaveSameInterface(graph, island)) found.push_back(*plan);
    }
    return found;
  }

 private:
  std::vector<std::pair<Graph, const FilePlan*>> plans_;
};

// "NonMaxSuppression, Gather": each operator once, in order.
std::string OperatorsOf(const Graph& graph) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kOpaque) continue;
    const auto proto = ReadOpaqueNode(node);
    std::string name = proto.ok() ? proto->op_type() : "?";
    if (std::find(names.begin(), names.end(), name) == names.end()) {
      names.push_back(std::move(name));
    }
  }
  return absl::StrJoin(names, ", ");
}

// "1 node", "2 nodes"
std::string Counted(int count, absl::string_view thing) {
  return absl::StrCat(count, " ", thing, count == 1 ? "" : "s");
}

class Loader {
 public:
  explicit Loader(const SegmentsRequest& request)
      : request_(request), graph_(request.bound.graph), plans_(request.plans) {}

  absl::StatusOr<LoadedSegments> Run() {
    if (request_.runner == nullptr) return WithoutRunner();
    const std::vector<Segment> segments = SegmentsOf(graph_);
    if (segments.size() > kSegmentsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("nodes that plait lacks (", OperatorsOf(graph_), ") cut the model into ",
                       segments.size(), " parts, at most ", kSegmentsMax, " are loaded"));
    }
    PLAIT_RETURN_IF_ERROR(AddBytes(PortBytes(graph_)));
    std::vector<LoadedSegment> parts;
    for (const Segment& segment : segments) {
      LoadedSegment& part = parts.emplace_back();
      part.inputs = segment.region.inputs;
      part.outputs = segment.region.outputs;
      const Graph piece = ExtractRegion(graph_, segment.region);
      PLAIT_RETURN_IF_ERROR(segment.is_host ? LoadHost(piece, &part) : LoadIsland(piece, &part));
    }
    PLAIT_ASSIGN_OR_RETURN(loaded_.model,
                           SegmentedModel::Make(graph_, std::move(parts), request_.model.outputs(),
                                                request_.model.weights()));
    Explain();
    return std::move(loaded_);
  }

 private:
  absl::Status WithoutRunner() const {
    return absl::UnimplementedError(absl::StrCat(
        CheckNoOpaqueNode(request_.bound).message(),
        "; a program may bring what runs such nodes (host_runner in plait_session_options)"));
  }

  // Each part alone may fit where all of them do not.
  absl::Status AddBytes(int64_t bytes) {
    bytes_ = SaturatingAdd(bytes_, bytes);
    return CheckMemory("model", bytes_, request_.executor.device());
  }

  absl::Status LoadIsland(const Graph& island, LoadedSegment* part) {
    PlanChoice choice =
        ChoosePlanOfPart(request_.model, island, plans_.For(island), request_.executor);
    if (!choice.loaded.has_value()) {
      Bound bound;
      bound.graph = island;
      PLAIT_ASSIGN_OR_RETURN(
          choice.loaded, LoadDefaultPlan(request_.model, bound, request_.plans, request_.executor));
      choice.grade = PlanGrade::kDefault;
      choice.explanation += kPredicted;
    }
    PLAIT_RETURN_IF_ERROR(AddBytes(LoadedBytes(choice.loaded->graph, choice.loaded->plan)));
    ++loaded_.islands;
    if (loaded_.islands == 1 || choice.grade < loaded_.grade) {
      loaded_.grade = choice.grade;
      loaded_.reason = choice.reason;
      loaded_.explanation = choice.explanation;
      loaded_.is_embedded = choice.grade >= PlanGrade::kSameInstructionSet;
    }
    part->island = std::move(choice.loaded->executable);
    loaded_.kernels += static_cast<int>(choice.loaded->plan.steps.size());
    loaded_.streams = std::max(loaded_.streams, choice.loaded->plan.streams);
    loaded_.reference_nodes += part->island->fallback_nodes();
    return absl::OkStatus();
  }

  absl::Status LoadHost(const Graph& piece, LoadedSegment* part) {
    std::vector<DataType> types;
    for (const TensorId input : part->inputs) {
      const TensorInfo& info = graph_.tensor(input);
      const auto found = host_types_.find(input);
      types.push_back(found == host_types_.end() ? info.type.dtype : found->second);
      if (BytesOf(types.back()) > 0) continue;
      return absl::UnimplementedError(
          absl::StrCat("'", *info.name, "', which nodes read that plait lacks (",
                       OperatorsOf(piece), "), is no tensor of numbers"));
    }
    PLAIT_ASSIGN_OR_RETURN(const std::string model, ExportPiece(request_.model, piece, types));
    absl::StatusOr<std::unique_ptr<HostSegment>> host =
        request_.runner->Load(model, request_.executor.device().threads, part->outputs.size());
    if (!host.ok()) {
      return Annotate(host.status(),
                      absl::StrCat("nodes that plait lacks (", OperatorsOf(piece), ")"));
    }
    part->host = *std::move(host);
    for (size_t i = 0; i < part->outputs.size(); ++i) {
      host_types_[part->outputs[i]] = part->host->OutputType(i);
    }
    loaded_.host_nodes += piece.node_count();
    return absl::OkStatus();
  }

  void Explain() {
    if (loaded_.islands == 0) loaded_.explanation = "there is nothing in the model to plan";
    absl::StrAppend(&loaded_.explanation, "; ", Counted(loaded_.host_nodes, "node"),
                    " that plait lacks (", OperatorsOf(graph_),
                    loaded_.host_nodes == 1 ? ") runs" : ") run",
                    " in the program's host runner, around ", Counted(loaded_.islands, "part"),
                    " of the model");
  }

  const SegmentsRequest& request_;
  const Graph& graph_;
  const PlansOfParts plans_;
  absl::flat_hash_map<TensorId, DataType> host_types_;  // of what host segments make
  int64_t bytes_ = 0;                                   // of what was loaded so far
  LoadedSegments loaded_;
};

}  // namespace

std::vector<Graph> IslandsOf(const Graph& graph) {
  std::vector<Graph> islands;
  for (const Segment& segment : SegmentsOf(graph)) {
    if (!segment.is_host) islands.push_back(ExtractRegion(graph, segment.region));
  }
  return islands;
}

absl::StatusOr<LoadedSegments> LoadSegments(const SegmentsRequest& request) {
  return Loader(request).Run();
}

}  // namespace plait
