#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "loading/choose_plan.h"
#include "loading/host_runner.h"
#include "loading/plan_rebinder.h"
#include "loading/segmented_model.h"
#include "runtime/kept_shapes.h"

namespace plait {

struct SessionOptions {
  std::string device = "cpu";
  int threads = 0;  // 0: as many as the plan inside the model is for, all where there is none
  bool pins_threads = false;
  bool ignores_plan = false;
  bool requires_plan = false;
  Bindings shapes;                          // of inputs whose dimensions are open
  std::shared_ptr<HostRunner> host_runner;  // nullptr: the program brings none
};

// Which plan a session runs, and why.
struct SessionPlan {
  bool is_embedded = false;
  PlanGrade grade = PlanGrade::kNone;
  PlanReason reason = PlanReason::kNone;
  std::string explanation;
  int threads = 1;
  int kernels = 0;
  int streams = 1;
  int reference_nodes = 0;
  int host_nodes = 0;
  int islands = 0;  // 0: the plan is for the whole
};

// An input or output: `data` is where the plan reads or writes it (BoundTensor).
struct SessionTensor {
  std::string name;
  TensorType type;
  std::byte* data = nullptr;
  bool is_open = false;  // only a run tells the shape and where it lies (SegmentedModel)
};

// A model that is loaded for one set of shapes. Immutable but for what its executable writes.
// Whoever runs it holds it, so that it may fall out of the session's meanwhile.
struct LoadedShapes {
  std::vector<SessionTensor> inputs;
  std::vector<SessionTensor> outputs;
  SessionPlan plan;
  // One of them; is run under the session's run_mutex_ only.
  std::unique_ptr<Executable> executable;
  std::unique_ptr<SegmentedModel> segments;

  absl::Status Run(absl::Span<const BoundCopy> before, absl::Span<const BoundCopy> after) {
    return segments == nullptr ? executable->RunBound(before, after) : segments->Run(before, after);
  }
};

// Beside those of the file's own plans. 16: the sizes of a batch up to it, or the powers of two of
// two dimensions up to eight each.
inline constexpr size_t kSessionShapesMax = 16;

// Of the file's own plans. 32: those of a range of batches up to 16 and of lengths from 16 to 512.
inline constexpr size_t kSessionPlansMax = 32;

// A model that is loaded on a device that it shares with other sessions of the process. What
// plait/runtime.h promises of a session, without its C: thread-safe, and runs take turns.
class Session {
 public:
  // Errors: those of Bind, PredictedPlan, Executor::Load and LoadSegments;
  // Unimplemented for a device that this version does not know; FailedPrecondition when a plan
  // inside the model is required and none can be used.
  static absl::StatusOr<std::unique_ptr<Session>> Create(const Model& imported,
                                                         const SessionOptions& options);

  // For the shapes that the session was created with.
  const std::vector<SessionTensor>& inputs() const { return main_->inputs; }
  const std::vector<SessionTensor>& outputs() const { return main_->outputs; }
  const SessionPlan& plan() const { return main_->plan; }

  // For how many other shapes the plans inside the model were loaded when the session was created,
  // up to kSessionPlansMax: those of a range, so that a plan which is bound to other shapes finds
  // its weights packed.
  size_t further_plans() const { return further_.size(); }

  // The same for other shapes of the inputs, one for each, in order: loaded now unless a plan
  // inside is for them or they are among the last kSessionShapesMax that were asked for, by the
  // plan inside the model that is for them or can be bound to them. Only dimensions that the model
  // leaves open, and that the session's options do not give, may differ. One shape is loaded at a
  // time, while those that are loaded run. Errors: InvalidArgument naming the input; as Create.
  absl::StatusOr<std::shared_ptr<LoadedShapes>> For(absl::Span<const Shape> input_shapes);

  // Copies inputs from, and outputs to, the caller's bytes; one address for each, in order. What
  // lies in the data of `shapes` already is not copied, nor are outputs that are open.
  // REQUIRES: `shapes` is the session's, and each address holds as many bytes as its tensor has.
  // Errors: those of kernels.
  absl::Status Run(const std::shared_ptr<LoadedShapes>& shapes,
                   absl::Span<const void* const> inputs, absl::Span<void* const> outputs);

  // Runs from the inputs' data to the outputs' data, for the shapes that the session was created
  // with. Errors: as Run.
  absl::Status RunBound();

  // An output of the last run, where that left it. The reference is good until the next call for
  // the same output. Errors: InvalidArgument for a number that there is not; FailedPrecondition
  // before a run has succeeded.
  absl::StatusOr<const SessionTensor*> LastOutput(size_t index);

  // The same dimensions, at a place that outlives what is loaded for them (KeptShapes).
  const Shape& Kept(const Shape& shape) { return kept_.Keep(shape); }

 private:
  Session() = default;
  // Opens the device with as many threads as are wanted. Errors: those of OpenExecutor.
  absl::Status Open(bool is_open);
  // Loads the model by the best plan inside, where that can be, or by a default plan. Errors: as
  // Create.
  absl::StatusOr<std::shared_ptr<LoadedShapes>> Load(const Model& model, const Bindings& given)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(load_mutex_);
  // Loads what further plans inside are for, as far as it can be loaded.
  void LoadFurther() ABSL_EXCLUSIVE_LOCKS_REQUIRED(load_mutex_);
  // The best plan inside; without `loaded` where there is none that fits, or none is wanted.
  PlanChoice Choose(const Model& model, const Bindings& given)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(load_mutex_);
  // Loads a model around nodes that plait does not understand.
  absl::StatusOr<std::shared_ptr<LoadedShapes>> LoadParts(const Model& model, const Bound& bound,
                                                          absl::Span<const FilePlan> plans)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(load_mutex_);
  // What is loaded for these shapes, which are now the newest; nullptr: nothing is.
  std::shared_ptr<LoadedShapes> Known(absl::Span<const Shape> input_shapes);
  absl::Status RunLocked(const std::shared_ptr<LoadedShapes>& shapes,
                         absl::Span<const BoundCopy> before, absl::Span<const BoundCopy> after)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(run_mutex_);
  // Whether other shapes can be asked for.
  bool IsOpen(const Model& model) const;
  // Whether an input may have this shape. Errors: InvalidArgument.
  absl::Status CheckShape(size_t input, const Shape& shape) const;

  // Constant after Create.
  SessionOptions options_;
  std::vector<FilePlan> plans_;
  std::optional<Model> model_;          // only where other shapes can be asked for
  std::unique_ptr<Executor> executor_;  // outlives the executables; loads under load_mutex_ only
  std::shared_ptr<LoadedShapes> main_;
  std::vector<std::shared_ptr<LoadedShapes>> further_;

  KeptShapes kept_;
  // The first two are taken in this order, where both are. A run needs the last one only, so that
  // it waits for other runs and for no load; and to look for a shape that is loaded waits for
  // neither. What a run alone can load (late_model.h) takes load_mutex_ inside of run_mutex_, which
  // nobody takes inside of it.
  absl::Mutex load_mutex_;
  absl::Mutex shapes_mutex_;
  absl::Mutex run_mutex_;
  std::optional<PlanRebinder> rebinder_ ABSL_GUARDED_BY(load_mutex_);
  // The last ones asked for, the newest first, without main_ and further_.
  std::list<std::shared_ptr<LoadedShapes>> others_ ABSL_GUARDED_BY(shapes_mutex_);
  std::shared_ptr<LoadedShapes> last_ ABSL_GUARDED_BY(run_mutex_);  // that a run of succeeded
  std::vector<SessionTensor> last_outputs_ ABSL_GUARDED_BY(run_mutex_);
};

}  // namespace plait
