#include "loading/late_model.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "loading/default_plan.h"
#include "loading/host_nodes/host_node.h"
#include "loading/load_segments.h"
#include "loading/segmented_executable.h"
#include "optimizer/onnx/messages/node_label.h"
#include "optimizer/onnx/opaque_node.h"
#include "optimizer/ops/evaluation/evaluate.h"
#include "optimizer/ops/shared/op_spec.h"

namespace plait {
namespace {

// As many shapes as a session keeps.
constexpr size_t kLoadedMax = 16;
// To make and load a plan takes about a millisecond, in which reference evaluation does so much.
constexpr int64_t kReferenceBytesMax = int64_t{64} << 10;
// A shape, axes, a number of boxes.
constexpr int64_t kValueElementsMax = 64;

// Whether sizes may follow from its values; from floats only in a list or alone (the scales of a
// Resize, the end of a Range).
bool IsSize(const Tensor& input, bool takes_floats) {
  const TensorType& type = input.type();
  if (!type.known() || input.elements() > kValueElementsMax) return false;
  if (type.dtype == DataType::kFloat32) return takes_floats && type.rank() <= 1;
  return type.dtype == DataType::kInt64 || type.dtype == DataType::kInt32;
}

bool HasStuckNode(const Graph& graph) {
  return std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [&](const Node& node) { return IsStuck(graph, node); });
}

// Reference evaluation takes any graph of operators that plait knows.
bool RunsByReference(const Graph& graph) {
  if (HasOpaqueNodes(graph)) return false;
  int64_t bytes = 0;
  for (const TensorInfo& tensor : graph.tensors()) bytes += tensor.type.bytes();
  return graph.node_count() == 0 || bytes <= kReferenceBytesMax || HasEmptyTensors(graph);
}

}  // namespace

bool HasEmptyTensors(const Graph& graph) {
  return std::any_of(graph.tensors().begin(), graph.tensors().end(),
                     [](const TensorInfo& tensor) { return tensor.type.elements() == 0; });
}

bool IsStuck(const Graph& graph, const Node& node) {
  if (node.op != OpKind::kOpaque) return false;
  const absl::StatusOr<onnx::NodeProto> proto = ReadOpaqueNode(node);
  if (!proto.ok() || IsHostOperator(proto->op_type()) || !IsDefaultDomain(proto->domain())) {
    return false;
  }
  return std::all_of(node.inputs.begin(), node.inputs.end(), [&](TensorId input) {
    return input == kNoTensor ||
           (graph.tensor(input).producer == kNoNode && graph.type(input).known());
  });
}

// One of `executable` and `graph`.
struct LateModel::Loaded {
  std::vector<TensorType> types;
  std::vector<Tensor> values;  // of inputs that are constants in it; of no type: of the others
  std::unique_ptr<Executable> executable;
  std::optional<Graph> graph;
};

LateModel::LateModel(Source source, const PartsLoading& loading)
    : source_(std::move(source)), loading_(loading) {
  loading_.is_late = true;
}

LateModel::LateModel(LateModel&&) noexcept = default;
LateModel::~LateModel() = default;

absl::Status LateModel::Import(absl::Span<const Tensor> inputs) {
  std::vector<DataType> types;
  for (const Tensor& input : inputs) types.push_back(input.type().dtype);
  if (model_ != nullptr && types == types_) return absl::OkStatus();
  loaded_.clear();
  model_.reset();
  PLAIT_ASSIGN_OR_RETURN(Model model, source_(types));
  model_ = std::make_unique<Model>(std::move(model));
  types_ = std::move(types);
  return absl::OkStatus();
}

absl::StatusOr<LateModel::Loaded*> LateModel::Find(absl::Span<const Tensor> inputs) {
  const auto fits = [&](const std::unique_ptr<Loaded>& loaded) {
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (loaded->types[i] != inputs[i].type()) return false;
      if (loaded->values[i].type().known() && loaded->values[i] != inputs[i]) return false;
    }
    return true;
  };
  const auto found = std::find_if(loaded_.begin(), loaded_.end(), fits);
  if (found != loaded_.end()) {
    loaded_.splice(loaded_.begin(), loaded_, found);
    return loaded_.front().get();
  }
  PLAIT_ASSIGN_OR_RETURN(std::unique_ptr<Loaded> loaded, Load(inputs));
  loaded_.push_front(std::move(loaded));
  if (loaded_.size() > kLoadedMax) loaded_.pop_back();
  return loaded_.front().get();
}

absl::StatusOr<std::unique_ptr<LateModel::Loaded>> LateModel::Load(
    absl::Span<const Tensor> inputs) {
  auto loaded = std::make_unique<Loaded>();
  // An input that has a value of its own is none of the model's.
  const auto given = std::count_if(inputs.begin(), inputs.end(),
                                   [](const Tensor& input) { return input.type().known(); });
  if (static_cast<size_t>(given) != model_->inputs().size()) {
    return absl::InvalidArgumentError(absl::StrCat("a subgraph takes ", model_->inputs().size(),
                                                   " inputs, and is given ", given));
  }
  Bindings shapes;
  std::vector<std::string> names;  // "" where the model lacks the input
  size_t next = 0;
  for (const Tensor& input : inputs) {
    loaded->types.push_back(input.type());
    names.push_back(input.type().known() ? model_->inputs()[next++].name : "");
    if (input.type().known()) shapes[names.back()] = input.type().shape;
  }
  loaded->values.resize(inputs.size());
  PLAIT_ASSIGN_OR_RETURN(Bound bound, Bind(*model_, shapes));
  for (const bool takes_floats : {false, true}) {
    if (!HasStuckNode(bound.graph)) break;
    InputValues values;
    for (size_t i = 0; i < inputs.size(); ++i) {
      if (!IsSize(inputs[i], takes_floats)) continue;
      // Bytes of its own: the caller's are gone after the run.
      loaded->values[i] = Tensor(inputs[i].type(), std::string(inputs[i].bytes()));
      values[names[i]] = loaded->values[i];
    }
    PLAIT_ASSIGN_OR_RETURN(bound, Bind(*model_, shapes, values));
  }
  PLAIT_RETURN_IF_ERROR(LoadGraph(std::move(bound), loaded.get()));
  return loaded;
}

absl::Status LateModel::LoadGraph(Bound bound, Loaded* loaded) {
  // Nothing would be gained by cutting it out once more.
  if (loading_.runner == nullptr && HasStuckNode(bound.graph)) {
    return absl::UnimplementedError(CheckNoOpaqueNode(bound).message());
  }
  if (RunsByReference(bound.graph)) {
    loaded->graph = std::move(bound.graph);
    return absl::OkStatus();
  }
  const absl::MutexLockMaybe lock(loading_.loading);
  if (!HasOpaqueNodes(bound.graph)) {
    PLAIT_ASSIGN_OR_RETURN(DefaultPlan made,
                           LoadDefaultPlan(*model_, bound, {}, loading_.executor));
    loaded->executable = std::move(made.loaded.executable);
    return absl::OkStatus();
  }
  PLAIT_ASSIGN_OR_RETURN(LoadedSegments parts, LoadSegments({*model_, bound, {}, loading_}));
  loaded->executable =
      std::make_unique<SegmentedExecutable>(std::move(parts.model), parts.reference_nodes);
  return absl::OkStatus();
}

absl::StatusOr<std::vector<Tensor>> LateModel::Run(absl::Span<const Tensor> inputs) {
  PLAIT_RETURN_IF_ERROR(Import(inputs));
  PLAIT_ASSIGN_OR_RETURN(Loaded * loaded, Find(inputs));
  std::vector<Tensor> given;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const bool is_constant = loaded->values[i].type().known() || !inputs[i].type().known();
    if (!is_constant) given.push_back(inputs[i]);
  }
  if (loaded->executable != nullptr) return loaded->executable->Run(given);
  return EvaluateGraph(*loaded->graph, given, model_->weights());
}

}  // namespace plait
