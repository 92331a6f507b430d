#pragma once

#include <cstddef>
#include <list>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "loading/choose_plan.h"

namespace plait {

struct SessionOptions {
  std::string device = "cpu";
  int threads = 0;  // 0: as many as the plan inside the model is for, all where there is none
  bool pins_threads = false;
  bool ignores_plan = false;
  bool requires_plan = false;
  Bindings shapes;  // of inputs whose dimensions are open
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
};

// An input or output: `data` is where the plan reads or writes it (BoundTensor).
struct SessionTensor {
  std::string name;
  TensorType type;
  std::byte* data = nullptr;
};

// A model that is loaded for one set of shapes. Immutable but for what its executable writes.
struct LoadedShapes {
  std::vector<SessionTensor> inputs;
  std::vector<SessionTensor> outputs;
  SessionPlan plan;
  std::unique_ptr<Executable> executable;  // is run under the session's lock only
};

// 16: the sizes of a batch up to it, or the powers of two of two dimensions up to eight each.
inline constexpr size_t kSessionShapesMax = 16;

// A model that is loaded on a device that it shares with other sessions of the process. What
// plait/runtime.h promises of a session, without its C: thread-safe, and runs take turns.
class Session {
 public:
  // `model` is a serialized ModelProto without external data.
  // Errors: those of ImportOnnx, Bind, PredictedPlan and Executor::Load; Unimplemented for an
  // operator or a device that this version does not know; FailedPrecondition when a plan inside
  // the model is required and none can be used.
  static absl::StatusOr<std::unique_ptr<Session>> Create(absl::string_view model,
                                                         const SessionOptions& options);

  // For the shapes that the session was created with.
  const std::vector<SessionTensor>& inputs() const { return main_->inputs; }
  const std::vector<SessionTensor>& outputs() const { return main_->outputs; }
  const SessionPlan& plan() const { return main_->plan; }

  // The same for other shapes of the inputs, one for each, in order: loaded now unless they are
  // among the last kSessionShapesMax that were asked for. Only dimensions that the model leaves
  // open, and that the session's options do not give, may differ.
  // Errors: InvalidArgument naming the input; as Create.
  absl::StatusOr<std::shared_ptr<LoadedShapes>> For(absl::Span<const Shape> input_shapes);

  // Copies inputs from, and outputs to, the caller's bytes; one address for each, in order. What
  // lies in the data of `shapes` already is not copied.
  // REQUIRES: `shapes` is the session's, and each address holds as many bytes as its tensor has.
  // Errors: those of kernels.
  absl::Status Run(LoadedShapes& shapes, absl::Span<const void* const> inputs,
                   absl::Span<void* const> outputs);

  // Runs from the inputs' data to the outputs' data, for the shapes that the session was created
  // with. Errors: as Run.
  absl::Status RunBound();

  // The same dimensions, at a place that lives as long as the session.
  const Shape& Kept(const Shape& shape);

 private:
  Session() = default;
  // Opens the device with as many threads as are wanted. Errors: those of OpenExecutor.
  absl::Status Open();
  // Loads the model by the best plan inside, where that can be, or by a default plan. Errors: as
  // Create.
  absl::StatusOr<std::shared_ptr<LoadedShapes>> Load(const Model& model, const Bindings& given);
  // Whether other shapes can be asked for.
  bool IsOpen(const Model& model) const;
  // Whether an input may have this shape. Errors: InvalidArgument.
  absl::Status CheckShape(size_t input, const Shape& shape) const;

  // Constant after Create.
  SessionOptions options_;
  std::vector<FilePlan> plans_;
  std::optional<Model> model_;          // only where other shapes can be asked for
  std::unique_ptr<Executor> executor_;  // outlives the executables
  std::shared_ptr<LoadedShapes> main_;

  absl::Mutex mutex_;
  // The last ones asked for, the newest first, without main_.
  std::list<std::shared_ptr<LoadedShapes>> others_ ABSL_GUARDED_BY(mutex_);
  std::set<Shape> kept_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
