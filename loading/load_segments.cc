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
#include "loading/own_segments.h"
#include "loading/reference_nodes.h"
#include "loading/split_host_part.h"
#include "optimizer/onnx/export.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/ops/shared/axes.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/plan/loaded_bytes.h"
#include "optimizer/search/segments.h"

namespace plait {
namespace {

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

// Adds what is not there yet: each operator once, in order.
void AddOperators(const Graph& graph, std::vector<std::string>* names) {
  for (const Node& node : graph.nodes()) {
    if (node.op != OpKind::kOpaque) continue;
    const auto proto = ReadOpaqueNode(node);
    std::string name = proto.ok() ? proto->op_type() : "?";
    if (std::find(names->begin(), names->end(), name) == names->end()) {
      names->push_back(std::move(name));
    }
  }
}

// "NonMaxSuppression, Gather"
std::string OperatorsOf(const Graph& graph) {
  std::vector<std::string> names;
  AddOperators(graph, &names);
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
    PLAIT_RETURN_IF_ERROR(AddBytes(PortBytes(graph_)));
    for (const Segment& segment : SegmentsOf(graph_)) {
      if (segment.is_host) {
        PLAIT_RETURN_IF_ERROR(LoadHost(segment.region));
        continue;
      }
      PLAIT_RETURN_IF_ERROR(LoadIsland(segment.region));
    }
    PLAIT_ASSIGN_OR_RETURN(loaded_.model,
                           SegmentedModel::Make(graph_, std::move(parts_), request_.model.outputs(),
                                                request_.model.weights()));
    Explain();
    return std::move(loaded_);
  }

 private:
  // Each part alone may fit where all of them do not.
  absl::Status AddBytes(int64_t bytes) {
    bytes_ = SaturatingAdd(bytes_, bytes);
    return CheckMemory("model", bytes_, request_.loading.executor.device());
  }

  absl::StatusOr<LoadedSegment*> AddPart(const Region& region) {
    if (parts_.size() == kSegmentsMax) {
      return absl::ResourceExhaustedError(
          absl::StrCat("nodes that plait lacks (", OperatorsOf(graph_), ") cut the model into more",
                       " than ", kSegmentsMax, " parts"));
    }
    LoadedSegment& part = parts_.emplace_back();
    part.inputs = region.inputs;
    part.outputs = region.outputs;
    return &part;
  }

  absl::Status LoadIsland(const Region& region) {
    PLAIT_ASSIGN_OR_RETURN(LoadedSegment * part, AddPart(region));
    const Graph island = ExtractRegion(graph_, region);
    if (HasEmptyTensors(island)) {
      part->host = MakeLateSegment(request_.model, island, request_.loading);
      loaded_.late_nodes += island.node_count();
      return absl::OkStatus();
    }
    Executor& executor = request_.loading.executor;
    PlanChoice choice = ChoosePlanOfPart(request_.model, island, plans_.For(island), executor);
    if (!choice.loaded.has_value()) {
      Bound bound;
      bound.graph = island;
      PLAIT_ASSIGN_OR_RETURN(DefaultPlan made,
                             LoadDefaultPlan(request_.model, bound, request_.plans, executor));
      choice.loaded = std::move(made.loaded);
      choice.grade = PlanGrade::kDefault;
      choice.explanation += made.explanation;
    }
    PLAIT_RETURN_IF_ERROR(AddBytes(LoadedBytes(choice.loaded->graph, choice.loaded->plan)));
    ++loaded_.islands;
    if (loaded_.islands == 1 || choice.grade < loaded_.grade) {
      loaded_.grade = choice.grade;
      loaded_.reason = choice.reason;
      loaded_.explanation = choice.explanation;
      loaded_.is_embedded = choice.grade >= PlanGrade::kSameInstructionSet;
    }
    PLAIT_RETURN_IF_ERROR(reference_.Add(*choice.loaded, executor.device()));
    part->island = std::move(choice.loaded->executable);
    loaded_.kernels += static_cast<int>(choice.loaded->plan.steps.size());
    loaded_.streams = std::max(loaded_.streams, choice.loaded->plan.streams);
    loaded_.reference_nodes += part->island->fallback_nodes();
    return absl::OkStatus();
  }

  // In the runner where there is one that can, or by plait itself.
  absl::Status LoadHost(const Region& region) {
    absl::Status refused;
    if (request_.loading.runner != nullptr) {
      const size_t before = parts_.size();
      refused =
          LoadParts(SplitHostPart(graph_, region, /*has_runner=*/true), &Loader::LoadInRunner);
      if (!absl::IsUnimplemented(refused)) return refused;
      if (request_.loading.is_late && HasStuckNode(region)) return refused;
      parts_.erase(parts_.begin() + static_cast<ptrdiff_t>(before), parts_.end());
    }
    if (absl::Status known = CheckRunsByItself(request_.bound, region); !known.ok()) {
      return refused.ok() ? known : refused;
    }
    return LoadParts(SplitHostPart(graph_, region, /*has_runner=*/false), &Loader::LoadNode);
  }

  bool HasStuckNode(const Region& region) const {
    return std::any_of(region.nodes.begin(), region.nodes.end(),
                       [&](NodeId node) { return IsStuck(graph_, graph_.node(node)); });
  }

  // `load` is for parts that are not late.
  absl::Status LoadParts(absl::Span<const HostPart> parts,
                         absl::Status (Loader::*load)(const Graph& piece, LoadedSegment* part)) {
    int nodes = 0;
    int late_nodes = 0;
    for (const HostPart& one : parts) {
      PLAIT_ASSIGN_OR_RETURN(LoadedSegment * part, AddPart(one.region));
      const Graph piece = ExtractRegion(graph_, one.region);
      if (one.is_late) {
        part->host = MakeLateSegment(request_.model, piece, request_.loading);
        late_nodes += piece.node_count();
        continue;
      }
      PLAIT_RETURN_IF_ERROR((this->*load)(piece, part));
      nodes += piece.node_count();
    }
    const bool is_own = load == &Loader::LoadNode;
    for (const HostPart& one : parts) {
      if (one.is_late) continue;
      AddOperators(ExtractRegion(graph_, one.region), is_own ? &own_operators_ : &operators_);
    }
    (is_own ? own_nodes_ : runner_nodes_) += nodes;
    loaded_.host_nodes += nodes;
    loaded_.late_nodes += late_nodes;
    return absl::OkStatus();
  }

  absl::Status LoadNode(const Graph& piece, LoadedSegment* part) {
    PLAIT_ASSIGN_OR_RETURN(part->host, MakeNodeSegment(request_.model, piece, request_.loading));
    return absl::OkStatus();
  }

  absl::Status LoadInRunner(const Graph& piece, LoadedSegment* part) {
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
    absl::StatusOr<std::unique_ptr<HostSegment>> host = request_.loading.runner->Load(
        model, request_.loading.executor.device().threads, part->outputs.size());
    if (!host.ok()) {
      return Annotate(host.status(),
                      absl::StrCat("nodes that plait lacks (", OperatorsOf(piece), ")"));
    }
    part->host = *std::move(host);
    for (size_t i = 0; i < part->outputs.size(); ++i) {
      host_types_[part->outputs[i]] = part->host->OutputType(i);
    }
    return absl::OkStatus();
  }

  void Explain() {
    if (loaded_.islands == 0) loaded_.explanation = "there is nothing in the model to plan";
    const auto add = [&](int count, absl::Span<const std::string> operators,
                         absl::string_view where) {
      if (count == 0) return;
      absl::StrAppend(&loaded_.explanation, "; ", Counted(count, "node"), " that plait lacks (",
                      absl::StrJoin(operators, ", "), count == 1 ? ") runs " : ") run ", where);
    };
    add(runner_nodes_, operators_, "in the program's host runner");
    add(own_nodes_, own_operators_, "node by node");
    if (loaded_.late_nodes > 0) {
      absl::StrAppend(&loaded_.explanation, "; ", Counted(loaded_.late_nodes, "node"),
                      " behind them ", loaded_.late_nodes == 1 ? "is" : "are",
                      " planned when a run tells the sizes");
    }
    absl::StrAppend(&loaded_.explanation, "; around ", Counted(loaded_.islands, "part"),
                    " of the model", reference_.Text());
  }

  const SegmentsRequest& request_;
  const Graph& graph_;
  const PlansOfParts plans_;
  absl::flat_hash_map<TensorId, DataType> host_types_;  // of what host segments make
  int64_t bytes_ = 0;                                   // of what was loaded so far
  std::vector<LoadedSegment> parts_;
  // That the runner has, and that plait computes itself.
  int runner_nodes_ = 0;
  int own_nodes_ = 0;
  std::vector<std::string> operators_;
  std::vector<std::string> own_operators_;
  ReferenceNodes reference_;
  LoadedSegments loaded_;
};

}  // namespace

absl::StatusOr<LoadedSegments> LoadSegments(const SegmentsRequest& request) {
  return Loader(request).Run();
}

}  // namespace plait
