#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "client/local_profiler.h"
#include "gpu_worker/executor/executor.h"
#include "optimizer/onnx/bind.h"

namespace plait {

// A model that is ready to be loaded on a device: its graph, a plan and its weights.
// Owns all that it needs: the file may change afterwards.
struct LoadedModel {
  std::string path;
  Graph graph;
  Plan plan;
  std::shared_ptr<const WeightSource> weights;
  bool embedded_plan = false;  // the plan came with the file
};

// The shapes bind symbolic dimensions of inputs, by the input's name.
struct LoadOptions {
  Bindings shapes;
  bool ignore_plan = false;
  // Kernels are chosen by one short measurement each: for verbs that do not time the model.
  bool quick = false;
  // Of models that are compared, one for all; see MakeProfiles. nullptr: each has its own.
  LocalProfiles* profiles = nullptr;
};

// For LoadOptions::profiles of models that are timed. `executor` must outlive them.
std::unique_ptr<LocalProfiles> MakeProfiles(Executor& executor);

// Reads a model and finds the plan to run it by: the one inside the file when it is for this device
// and fits, else the baseline plan, one kernel per operator with its fastest variant, for which
// kernels are measured now. An embedded plan that does not fit is named in `warnings` and not used.
// Errors: InvalidArgument (MODEL_REJECTED) for a model that is malformed; FailedPrecondition for
// one that has operators the device cannot run; those of measuring.
//
// A plan from a file is hostile input: its size, version, device, graph and interface are compared,
// then the executor proves and loads it. Failing any of these is a warning.
absl::StatusOr<LoadedModel> LoadModel(const std::string& path, const LoadOptions& loading,
                                      Executor& executor, std::vector<std::string>* warnings);

// A model that is loaded on a device, ready to run.
struct LoadedExecutable {
  LoadedModel model;
  std::unique_ptr<Executable> executable;
};

// LoadModel for a verb that runs the model as it is. Proving an embedded plan loads it, so that to
// load it again would take as long once more.
// Errors: those of LoadModel and Executor::Load.
absl::StatusOr<LoadedExecutable> LoadExecutable(const std::string& path, const LoadOptions& loading,
                                                Executor& executor,
                                                std::vector<std::string>* warnings);

// --device, --threads, --instruction-set and --shape: for verbs that run models themselves.
// The names are the same for all of these verbs.
void AddLoadingOptions(std::vector<OptionSpec>* options);
LoadOptions LoadingOptions(const Arguments& arguments);

// For those of them that run the plan inside a model unless they are told not to.
inline constexpr OptionSpec kIgnorePlanOption = {"--ignore-plan", OptionKind::kSwitch, "",
                                                 "do not use the plan inside the model"};

// The device that --device and --threads name. Errors: those of OpenExecutor, as
// DEVICE_UNAVAILABLE.
// InvalidArgument for more threads than kThreadsMax. Threads are pinned for verbs that time models.
absl::StatusOr<std::unique_ptr<Executor>> OpenDevice(const Arguments& arguments,
                                                     bool pins_threads = false);

}  // namespace plait
