#include "runtime/session.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "gpu_worker/backends/open_executor.h"
#include "loading/predicted_plan.h"
#include "optimizer/onnx/import.h"

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
          " is not known (give the input's shape in plait_session_options.input_shapes)"));
    }
  }
  return absl::OkStatus();
}

// How many threads the plan inside a model is for; 0: there is none that could be used.
int PlannedThreads(const absl::StatusOr<LoadedPlan>& planned) {
  return planned.ok() ? std::clamp(planned->plan.threads, 0, static_cast<int>(kThreadsMax)) : 0;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Session>> Session::Create(absl::string_view model,
                                                         const SessionOptions& options) {
  PLAIT_RETURN_IF_ERROR(CheckDevice(options.device));
  if (options.threads < 0 || options.threads > kThreadsMax) {
    return absl::InvalidArgumentError(
        absl::StrCat("threads: must be from 0 to ", kThreadsMax, ", is ", options.threads));
  }
  PLAIT_ASSIGN_OR_RETURN(const Model imported, ImportOnnx(model));
  std::unique_ptr<Session> session(new Session());
  absl::StatusOr<LoadedPlan> planned = ReadPlan(imported, &session->plan_.reason);
  if (options.ignores_plan && planned.ok()) {
    session->plan_.reason = PlanReason::kNotWanted;
    planned = absl::NotFoundError("it is not wanted");
  }
  const Bindings shapes =
      planned.ok() ? ShapesFor(imported, *planned, options.shapes) : options.shapes;
  PLAIT_RETURN_IF_ERROR(CheckDimensions(imported, shapes));
  PLAIT_ASSIGN_OR_RETURN(const Bound bound, Bind(imported, shapes));
  PLAIT_RETURN_IF_ERROR(session->Load(imported, bound, options, std::move(planned)));
  return session;
}

absl::Status Session::Load(const Model& model, const Bound& bound, const SessionOptions& options,
                           absl::StatusOr<LoadedPlan> planned) {
  const int threads = options.threads > 0 ? options.threads : PlannedThreads(planned);
  PLAIT_ASSIGN_OR_RETURN(executor_,
                         OpenExecutor(options.device, {.threads = threads,
                                                       .pins_threads = options.pins_threads,
                                                       .shares_threads = true}));
  if (planned.ok()) {
    planned = LoadPlan(*std::move(planned), bound.graph, *executor_, &plan_.reason);
  }
  if (planned.ok()) {
    plan_.is_embedded = true;
    plan_.explanation = "the plan in the model is used";
    return Adopt(*std::move(planned));
  }
  const std::string why = plan_.reason == PlanReason::kNone
                              ? "there is no plan in the model"
                              : absl::StrCat("the plan in the model is ignored: ",
                                             absl::string_view(planned.status().message()));
  if (options.requires_plan) return absl::FailedPreconditionError(why);
  plan_.explanation = absl::StrCat(
      why,
      "; kernels are chosen by predicted times (optimize the model on this machine with "
      "`plait optimize`)");
  return LoadPredicted(model, bound);
}

absl::Status Session::LoadPredicted(const Model& model, const Bound& bound) {
  if (const absl::Status known = CheckNoOpaqueNode(bound); !known.ok()) {
    return absl::UnimplementedError(known.message());
  }
  LoadedPlan loaded;
  loaded.graph = bound.graph;
  PLAIT_ASSIGN_OR_RETURN(loaded.plan, PredictedPlan(loaded.graph, executor_->device()));
  loaded.weights = std::make_shared<ModelWeights>(model.weights());
  PLAIT_ASSIGN_OR_RETURN(loaded.executable,
                         executor_->Load(loaded.graph, loaded.plan, *loaded.weights));
  return Adopt(std::move(loaded));
}

// The weights are let go: an executable has packed what it needs.
absl::Status Session::Adopt(LoadedPlan loaded) {
  PLAIT_ASSIGN_OR_RETURN(const BoundTensors bound, loaded.executable->Bound());
  const auto take = [&](absl::Span<const TensorId> tensors, absl::Span<const BoundTensor> places,
                        std::vector<SessionTensor>* taken) {
    for (size_t i = 0; i < tensors.size(); ++i) {
      const auto& name = loaded.graph.tensor(tensors[i]).name;
      taken->push_back({name == nullptr ? "" : *name, places[i].type, places[i].data});
    }
  };
  take(loaded.graph.inputs(), bound.inputs, &inputs_);
  take(loaded.graph.outputs(), bound.outputs, &outputs_);
  plan_.threads = loaded.plan.threads;
  plan_.streams = loaded.plan.streams;
  plan_.kernels = static_cast<int>(loaded.plan.steps.size());
  plan_.reference_nodes = loaded.executable->fallback_nodes();
  const absl::MutexLock lock(&mutex_);
  executable_ = std::move(loaded.executable);
  return absl::OkStatus();
}

absl::Status Session::Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs) {
  const absl::MutexLock lock(&mutex_);
  for (size_t i = 0; i < inputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(inputs_[i].type.bytes());
    if (bytes > 0 && inputs[i] != inputs_[i].data) std::memcpy(inputs_[i].data, inputs[i], bytes);
  }
  PLAIT_RETURN_IF_ERROR(executable_->RunBound());
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto bytes = static_cast<size_t>(outputs_[i].type.bytes());
    if (bytes > 0 && outputs[i] != outputs_[i].data) {
      std::memcpy(outputs[i], outputs_[i].data, bytes);
    }
  }
  return absl::OkStatus();
}

absl::Status Session::RunBound() {
  const absl::MutexLock lock(&mutex_);
  return executable_->RunBound();
}

}  // namespace plait
