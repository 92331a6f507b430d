#include "runtime/session.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/open_executor.h"
#include "loading/default_plan.h"
#include "loading/load_segments.h"
#include "loading/reference_nodes.h"
#include "optimizer/onnx/assume_batch.h"

namespace plait {
namespace {

// Devices by the names that they will have, so that a program may be written for them now.
absl::Status CheckDevice(const std::string& device) {
  if (device == "cpu") return absl::OkStatus();
  if (absl::StartsWith(device, "cuda:")) {
    return absl::UnimplementedError(absl::StrCat(
        "device \"", device, "\": this version of libplait_runtime runs on \"cpu\" only"));
  }
  return absl::NotFoundError(
      absl::StrCat("device \"", device, "\": there is no such device (there is: \"cpu\")"));
}

// Binding would find the same, and name an option of the command line.
absl::Status CheckDimensions(const Model& model, const Bindings& shapes) {
  std::vector<absl::string_view> given;
  for (const ModelValue& input : model.inputs()) {
    if (!shapes.contains(input.name)) continue;
    for (const Dimension& dim : input.shape) given.push_back(dim.symbol);
  }
  const auto is_given = [&](const Dimension& dim) {
    return dim.known() || (!dim.symbol.empty() &&
                           std::find(given.begin(), given.end(), dim.symbol) != given.end());
  };
  for (const ModelValue& input : model.inputs()) {
    if (shapes.contains(input.name)) continue;
    for (size_t i = 0; i < input.shape.size(); ++i) {
      const Dimension& dim = input.shape[i];
      if (is_given(dim)) continue;
      const std::string name = dim.symbol.empty() ? "" : absl::StrCat(" ('", dim.symbol, "')");
      return absl::InvalidArgumentError(absl::StrCat(
          "input '", input.name, "': dimension ", i, name, " of ", input.TypeToString(),
          " is not known (give the input's shape in the option input_shapes)"));
    }
  }
  return absl::OkStatus();
}

// The executable and where it reads and writes. The weights are let go: it has packed what it
// needs.
absl::StatusOr<std::shared_ptr<LoadedShapes>> Adopt(const Model& model, LoadedPlan loaded,
                                                    SessionPlan plan,
                                                    const DeviceDescription& device) {
  auto adopted = std::make_shared<LoadedShapes>();
  PLAIT_ASSIGN_OR_RETURN(const BoundTensors bound, loaded.executable->Bound());
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    const auto& name = loaded.graph.tensor(loaded.graph.inputs()[i]).name;
    adopted->inputs.push_back(
        {name == nullptr ? "" : *name, bound.inputs[i].type, bound.inputs[i].data});
  }
  // By the model's names: in a rewritten graph two outputs may be one tensor.
  for (size_t i = 0; i < bound.outputs.size(); ++i) {
    adopted->outputs.push_back(
        {model.outputs()[i].name, bound.outputs[i].type, bound.outputs[i].data});
  }
  plan.threads = loaded.plan.threads;
  plan.streams = loaded.plan.streams;
  plan.kernels = static_cast<int>(loaded.plan.steps.size());
  plan.reference_nodes = loaded.executable->fallback_nodes();
  ReferenceNodes reference;
  PLAIT_RETURN_IF_ERROR(reference.Add(loaded, device));
  plan.explanation += reference.Text();
  adopted->plan = std::move(plan);
  adopted->executable = std::move(loaded.executable);
  return adopted;
}

// The same of a model that is loaded in parts.
std::shared_ptr<LoadedShapes> Adopt(LoadedSegments loaded, const Graph& graph, int threads) {
  auto adopted = std::make_shared<LoadedShapes>();
  const BoundTensors& bound = loaded.model->bound();
  for (size_t i = 0; i < bound.inputs.size(); ++i) {
    const std::string& name = *graph.tensor(graph.inputs()[i]).name;
    adopted->inputs.push_back({name, bound.inputs[i].type, bound.inputs[i].data});
  }
  for (size_t i = 0; i < bound.outputs.size(); ++i) {
    const std::string& name = *graph.tensor(graph.outputs()[i]).name;
    adopted->outputs.push_back(
        {name, bound.outputs[i].type, bound.outputs[i].data, loaded.model->IsOpen(i)});
  }
  adopted->plan = {.is_embedded = loaded.is_embedded,
                   .grade = loaded.grade,
                   .reason = loaded.reason,
                   .explanation = std::move(loaded.explanation),
                   .threads = threads,
                   .kernels = loaded.kernels,
                   .streams = loaded.streams,
                   .reference_nodes = loaded.reference_nodes,
                   .host_nodes = loaded.host_nodes,
                   .islands = loaded.islands};
  adopted->segments = std::move(loaded.model);
  return adopted;
}

absl::StatusOr<Bound> BindFor(const Model& model, absl::Span<const FilePlan> plans,
                              const Bindings& given) {
  // Nobody needs to be told: a run says its sizes, and the model is bound to them.
  std::vector<std::string> assumed;
  const Bindings shapes = WithBatchOfOne(model, ShapesOfPlans(model, plans, given), &assumed);
  PLAIT_RETURN_IF_ERROR(CheckDimensions(model, shapes));
  return Bind(model, shapes);
}

bool HasShapes(const LoadedShapes& loaded, absl::Span<const Shape> shapes) {
  return std::equal(
      loaded.inputs.begin(), loaded.inputs.end(), shapes.begin(), shapes.end(),
      [](const SessionTensor& input, const Shape& shape) { return input.type.shape == shape; });
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(const Model& imported,
                                                         const SessionOptions& options) {
  PLAIT_RETURN_IF_ERROR(CheckDevice(options.device));
  if (options.threads < 0 || options.threads > kThreadsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads: must be from 0 to ", kThreadsMax, ", is ", options.threads));
  }
  std::unique_ptr<Session> session(new Session());
  session->options_ = options;
  session->plans_ = ReadFilePlans(imported);
  PLAIT_RETURN_IF_ERROR(session->Open(session->IsOpen(imported)));
  const absl::MutexLock lock(&session->load_mutex_);
  session->rebinder_.emplace(imported, session->plans_, *session->executor_);
  PLAIT_ASSIGN_OR_RETURN(session->main_, session->Load(imported, options.shapes));
  const int threads = session->executor_->device().threads;
  if (options.threads > threads) {
    absl::StrAppend(&session->main_->plan.explanation, "; of the ", options.threads,
                    " threads asked for there are ", threads);
  }
  if (session->IsOpen(imported)) {
    session->model_ = imported;
    session->LoadFurther();
  } else {
    session->rebinder_.reset();
    session->plans_.clear();
  }
  return session;
}

// What the plans are for depends on the device, which says how many threads it has only when it is
// open.
absl::Status Session::Open(bool is_open) {
  const auto open = [&](int threads) {
    return OpenExecutor(options_.device, {.threads = threads,
                                          .pins_threads = options_.pins_threads,
                                          .shares_threads = true,
                                          .shares_weights = true,
                                          .shares_formats = is_open,
                                          .shares_working_memory = true});
  };
  PLAIT_ASSIGN_OR_RETURN(executor_, open(options_.threads));
  if (options_.threads > 0 || options_.ignores_plan) return absl::OkStatus();
  const int threads = ThreadsOfPlans(plans_, executor_->device());
  if (threads == executor_->device().threads) return absl::OkStatus();
  PLAIT_ASSIGN_OR_RETURN(executor_, open(threads));
  return absl::OkStatus();
}

PlanChoice Session::Choose(const Model& model, const Bindings& given) {
  PlanChoice choice;
  if (options_.ignores_plan && !plans_.empty()) {
    choice.reason = PlanReason::kNotWanted;
    choice.explanation = "the plan in the model is ignored: it is not wanted";
    return choice;
  }
  // Only the first time, because what comes of it for other shapes is known: which are for those is
  // found faster.
  if (main_ == nullptr) choice = ChoosePlan(model, plans_, given, *executor_);
  const bool is_for_others = main_ != nullptr || choice.reason == PlanReason::kOtherModel;
  if (choice.loaded.has_value() || !is_for_others) return choice;
  PlanChoice rebound = rebinder_->Choose(given);
  if (rebound.loaded.has_value() || main_ != nullptr) return rebound;
  return choice;
}

absl::StatusOr<std::shared_ptr<LoadedShapes>> Session::Load(const Model& model,
                                                            const Bindings& given) {
  PlanChoice choice = Choose(model, given);
  SessionPlan plan = {choice.loaded.has_value(), choice.grade, choice.reason, choice.explanation};
  const DeviceDescription& device = executor_->device();
  if (choice.loaded.has_value()) {
    return Adopt(model, *std::move(choice.loaded), std::move(plan), device);
  }
  absl::Span<const FilePlan> plans = plans_;
  if (options_.ignores_plan) plans = {};
  const absl::StatusOr<Bound> bound = BindFor(model, plans, given);
  if (bound.ok() && HasOpaqueNodes(bound->graph)) return LoadParts(model, *bound, plans);
  if (options_.requires_plan) return absl::FailedPreconditionError(choice.explanation);
  PLAIT_RETURN_IF_ERROR(bound.status());
  PLAIT_ASSIGN_OR_RETURN(DefaultPlan made, LoadDefaultPlan(model, *bound, plans, *executor_));
  absl::StrAppend(&plan.explanation, made.explanation);
  plan.grade = PlanGrade::kDefault;
  return Adopt(model, std::move(made.loaded), std::move(plan), device);
}

absl::StatusOr<std::shared_ptr<LoadedShapes>> Session::LoadParts(const Model& model,
                                                                 const Bound& bound,
                                                                 absl::Span<const FilePlan> plans) {
  absl::StatusOr<LoadedSegments> loaded = LoadSegments(
      {model, bound, plans, PartsLoading{*executor_, options_.host_runner.get(), &load_mutex_}});
  if (absl::IsUnimplemented(loaded.status()) && options_.host_runner == nullptr) {
    return absl::UnimplementedError(absl::StrCat(loaded.status().message(),
                                                 "; a program may bring what runs such nodes "
                                                 "(host_runner in plait_session_options)"));
  }
  PLAIT_RETURN_IF_ERROR(loaded.status());
  if (options_.requires_plan && !loaded->is_embedded) {
    return absl::FailedPreconditionError(loaded->explanation);
  }
  return Adopt(*std::move(loaded), bound.graph, executor_->device().threads);
}

void Session::LoadFurther() {
  if (options_.ignores_plan || main_->executable == nullptr) return;
  for (Bindings& shapes : rebinder_->ShapesOfBest()) {
    if (further_.size() == kSessionPlansMax) return;
    const bool is_wanted =
        std::all_of(options_.shapes.begin(), options_.shapes.end(),
                    [&](const auto& given) { return shapes[given.first] == given.second; });
    const bool is_main = std::all_of(
        main_->inputs.begin(), main_->inputs.end(),
        [&](const SessionTensor& input) { return shapes[input.name] == input.type.shape; });
    if (!is_wanted || is_main) continue;
    PlanChoice choice = Choose(*model_, shapes);
    // What cannot be loaded is told to whoever runs such shapes.
    if (!choice.loaded.has_value() || choice.reason == PlanReason::kOtherShapes) continue;
    absl::StatusOr<std::shared_ptr<LoadedShapes>> loaded = Adopt(
        *model_, *std::move(choice.loaded),
        {true, choice.grade, choice.reason, std::move(choice.explanation)}, executor_->device());
    if (loaded.ok()) further_.push_back(*std::move(loaded));
  }
}

bool Session::IsOpen(const Model& model) const {
  return std::any_of(model.inputs().begin(), model.inputs().end(), [&](const ModelValue& input) {
    return !options_.shapes.contains(input.name) &&
           std::any_of(input.shape.begin(), input.shape.end(),
                       [](const Dimension& dimension) { return !dimension.known(); });
  });
}

absl::Status Session::CheckShape(size_t input, const Shape& shape) const {
  const SessionTensor& usual = main_->inputs[input];
  const auto is_it = [&](const ModelValue& value) { return value.name == usual.name; };
  const auto declared = std::find_if(model_->inputs().begin(), model_->inputs().end(), is_it);
  bool fits = declared != model_->inputs().end() && IsValidShape(shape) &&
              shape.size() == declared->shape.size();
  for (size_t axis = 0; fits && axis < shape.size(); ++axis) {
    const bool may_differ = !declared->shape[axis].known() && !options_.shapes.contains(usual.name);
    fits = may_differ ? shape[axis] > 0 : shape[axis] == usual.type.shape[axis];
  }
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      "input ", input, " ('", usual.name, "'): must be ",
      declared == model_->inputs().end() ? usual.type.ToString() : declared->TypeToString(),
      ", is ", ShapeToString(shape)));
}

absl::StatusOr<std::shared_ptr<LoadedShapes>> Session::For(absl::Span<const Shape> input_shapes) {
  if (HasShapes(*main_, input_shapes) || !model_.has_value()) return main_;
  Bindings given = options_.shapes;
  for (size_t i = 0; i < input_shapes.size(); ++i) {
    PLAIT_RETURN_IF_ERROR(CheckShape(i, input_shapes[i]));
    given[main_->inputs[i].name] = input_shapes[i];
  }
  if (std::shared_ptr<LoadedShapes> known = Known(input_shapes)) return known;
  const absl::MutexLock lock(&load_mutex_);
  // Whoever loaded meanwhile may have loaded this one.
  if (std::shared_ptr<LoadedShapes> known = Known(input_shapes)) return known;
  PLAIT_ASSIGN_OR_RETURN(std::shared_ptr<LoadedShapes> loaded, Load(*model_, given));
  std::shared_ptr<LoadedShapes> fallen;  // is freed when nobody waits for it
  const absl::MutexLock shapes_lock(&shapes_mutex_);
  others_.push_front(loaded);
  if (others_.size() > kSessionShapesMax) {
    fallen = std::move(others_.back());
    others_.pop_back();
  }
  return loaded;
}

std::shared_ptr<LoadedShapes> Session::Known(absl::Span<const Shape> input_shapes) {
  const auto is_for_them = [&](const auto& loaded) { return HasShapes(*loaded, input_shapes); };
  const auto planned = std::find_if(further_.begin(), further_.end(), is_for_them);
  if (planned != further_.end()) return *planned;
  const absl::MutexLock lock(&shapes_mutex_);
  const auto known = std::find_if(others_.begin(), others_.end(), is_for_them);
  if (known == others_.end()) return nullptr;
  others_.splice(others_.begin(), others_, known);
  return others_.front();
}

absl::Status Session::Run(const std::shared_ptr<LoadedShapes>& shapes,
                          absl::Span<const void* const> inputs, absl::Span<void* const> outputs) {
  // No memory is taken for as many as nearly all models have.
  absl::InlinedVector<BoundCopy, 8> before;
  absl::InlinedVector<BoundCopy, 8> after;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const SessionTensor& own = shapes->inputs[i];
    if (own.data == inputs[i]) continue;
    before.push_back({own.data, static_cast<const std::byte*>(inputs[i]), own.type.bytes()});
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const SessionTensor& own = shapes->outputs[i];
    if (own.is_open || own.data == outputs[i]) continue;
    after.push_back({static_cast<std::byte*>(outputs[i]), own.data, own.type.bytes()});
  }
  const absl::MutexLock lock(&run_mutex_);
  return RunLocked(shapes, before, after);
}

absl::Status Session::RunBound() {
  const absl::MutexLock lock(&run_mutex_);
  return RunLocked(main_, {}, {});
}

absl::Status Session::RunLocked(const std::shared_ptr<LoadedShapes>& shapes,
                                absl::Span<const BoundCopy> before,
                                absl::Span<const BoundCopy> after) {
  last_.reset();  // whose outputs a run that fails has overwritten
  PLAIT_RETURN_IF_ERROR(shapes->Run(before, after));
  last_ = shapes;
  return absl::OkStatus();
}

absl::StatusOr<const SessionTensor*> Session::LastOutput(size_t index) {
  if (index >= main_->outputs.size()) {
    return absl::InvalidArgumentError(
        absl::StrCat("output ", index, ": there are ", main_->outputs.size(), ", numbered from 0"));
  }
  const absl::MutexLock lock(&run_mutex_);
  if (last_ == nullptr) return absl::FailedPreconditionError("no run has succeeded so far");
  last_outputs_.resize(main_->outputs.size());
  SessionTensor& output = last_outputs_[index];
  output = last_->outputs[index];
  if (output.is_open) {
    const HostTensor& result = last_->segments->Result(index);
    // The caller may do with it what it likes: the runner's next run makes it anew.
    output = {output.name, result.type, const_cast<std::byte*>(result.data)};
  }
  return &output;
}

}  // namespace plait
