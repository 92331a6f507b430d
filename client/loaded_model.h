#pragma once

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "client/command.h"
#include "client/json.h"
#include "client/local_profiler.h"
#include "gpu_worker/executor/measure_plans.h"
#include "loading/file_plans.h"
#include "optimizer/onnx/bind.h"

namespace plait {

// What a model with nodes that plait lacks is loaded from: in parts, by the plans of the file.
struct PartedModel {
  Model model;
  Bound bound;
  std::vector<FilePlan> plans;
  int kernels = 0;  // of all parts
};

// A model that is ready to be loaded on a device: its graph, a plan and its weights.
// Owns all that it needs: the file may change afterwards.
struct LoadedModel {
  std::string path;
  // As the file has them: in a rewritten graph two outputs may be one tensor, which has one name.
  std::vector<std::string> output_names;
  Graph graph;
  Plan plan;
  std::shared_ptr<const WeightSource> weights;
  bool embedded_plan = false;  // the plan came with the file
  PlanGrade grade = PlanGrade::kNone;
  std::string explanation;  // which plan that is, and why
  // nullptr: it runs by `plan`; otherwise there is none.
  std::shared_ptr<const PartedModel> parts;
};

// What a model runs by that has no plan inside, or whose plan is ignored.
enum class PlanWithout {
  kMeasuredBaseline,   // one kernel per operator, with its fastest variant, measured now
  kPredictedBaseline,  // the same by predicted times: for verbs that look at outputs only
  kPredicted,          // the default plan (loading/default_plan.h)
};

// The shapes bind symbolic dimensions of inputs, by the input's name.
struct LoadOptions {
  std::string name;  // what messages call it instead of its path; "": that
  Bindings shapes;
  // A folder of inputs (ReadInputs), whose shapes count where none are given; "": none.
  std::string inputs;
  bool ignore_plan = false;
  bool require_plan = false;
  // Whether a model may run in parts, around nodes that plait computes one by one (LoadSegments).
  // Outputs have the shapes that a run gives them.
  bool takes_parts = false;
  PlanWithout without_plan = PlanWithout::kMeasuredBaseline;
  // Of models that are compared, one for all; see MakeProfiles. nullptr: each has its own.
  LocalProfiles* profiles = nullptr;
};

// For LoadOptions::profiles of models that are timed. `executor` must outlive them.
std::unique_ptr<LocalProfiles> MakeProfiles(Executor& executor);

// Reads a model and finds the plan to run it by: the best one inside the file (ChoosePlan); where
// none fits, a default plan, which is made without measuring; where there is none, what
// LoadOptions::without_plan says. All but an exact plan is named in `warnings`, if there is one in
// the file, and `explanation` says it in any case. Without a plan, dimensions that nothing gives
// are those of ShapesToRun. Errors: InvalidArgument (MODEL_REJECTED) for a model that is malformed;
// FailedPrecondition for one that has operators the device cannot run, and (MODEL_REJECTED) where a
// plan is required and none fits; those of measuring.
absl::StatusOr<LoadedModel> LoadModel(const std::string& path, const LoadOptions& loading,
                                      Executor& executor, std::vector<std::string>* warnings);

// The same for models that are compared, with options for each: what one of them leaves open has
// the size that it has in the first plan inside any of them.
absl::StatusOr<std::vector<LoadedModel>> LoadModels(absl::Span<const std::string> paths,
                                                    absl::Span<const LoadOptions> loading,
                                                    Executor& executor,
                                                    std::vector<std::string>* warnings);

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

// Loads what LoadModel found. Errors: those of Executor::Load and LoadSegments.
absl::StatusOr<std::unique_ptr<Executable>> LoadOn(const LoadedModel& model, Executor& executor);

// The same for whoever loads it again and again; nullptr of a model that runs by its plan, which
// says all. Both must outlive it.
ExecutableLoader LoaderOf(const LoadedModel& model, Executor& executor);

// --device, --threads, --instruction-set and --shape: for verbs that run models themselves.
// The names are the same for all of these verbs.
void AddLoadingOptions(std::vector<OptionSpec>* options);
LoadOptions LoadingOptions(const Arguments& arguments);

// For those of them that run the plan inside a model unless they are told not to.
inline constexpr OptionSpec kIgnorePlanOption = {"--ignore-plan", OptionKind::kSwitch, "",
                                                 "do not use the plan inside the model"};
inline constexpr OptionSpec kRequirePlanOption = {"--require-plan", OptionKind::kSwitch, "",
                                                  "fail unless a plan inside the model fits"};

// {"grade", "explanation"}: which plan a model runs by.
Json PlanChoiceJson(const LoadedModel& model);

// Errors: InvalidArgument for more --threads than the device has.
absl::Status CheckThreads(const Arguments& arguments, absl::string_view device, int has);

// The device that --device and --threads name. Errors: those of OpenExecutor, as
// DEVICE_UNAVAILABLE, and of CheckThreads. Threads are pinned for verbs that time models.
absl::StatusOr<std::unique_ptr<Executor>> OpenDevice(const Arguments& arguments,
                                                     bool pins_threads = false);

// The same for verbs that compare times of plans, with pinned threads. Errors: also
// FailedPrecondition for a simulated device, which has none.
absl::StatusOr<std::unique_ptr<Executor>> OpenTimedDevice(const Arguments& arguments);

}  // namespace plait
