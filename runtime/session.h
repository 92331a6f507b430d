#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "gpu_worker/executor/executor.h"
#include "loading/embedded.h"

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

// A model that is loaded on a device that it shares with other sessions of the process. What
// plait/runtime.h promises of a session, without its C: thread-safe, and runs take turns.
class Session {
 public:
  // `model` is a serialized ModelProto without external data.
  // Errors: those of ImportOnnx, Bind, PredictedPlan and Executor::Load; Unimplemented for an
  // operator or a device that this version does not know; FailedPrecondition when the plan inside
  // the model is required and cannot be used.
  static absl::StatusOr<std::unique_ptr<Session>> Create(absl::string_view model,
                                                         const SessionOptions& options);

  const std::vector<SessionTensor>& inputs() const { return inputs_; }
  const std::vector<SessionTensor>& outputs() const { return outputs_; }
  const SessionPlan& plan() const { return plan_; }

  // Copies inputs from, and outputs to, the caller's bytes; one address for each, in order. What
  // lies in the session's own data already is not copied.
  // REQUIRES: each holds as many bytes as its tensor has. Errors: those of kernels.
  absl::Status Run(absl::Span<const void* const> inputs, absl::Span<void* const> outputs);

  // Runs from the inputs' data to the outputs' data. Errors: as Run.
  absl::Status RunBound();

 private:
  Session() = default;
  // Loads the model by `planned`, where that can be, or by a predicted plan. Errors: as Create.
  absl::Status Load(const Model& model, const Bound& bound, const SessionOptions& options,
                    absl::StatusOr<LoadedPlan> planned);
  absl::Status LoadPredicted(const Model& model, const Bound& bound);
  // Takes over what was loaded. Errors: those of Executable::Bound.
  absl::Status Adopt(LoadedPlan loaded);

  SessionPlan plan_;
  std::vector<SessionTensor> inputs_;
  std::vector<SessionTensor> outputs_;
  absl::Mutex mutex_;
  std::unique_ptr<Executor> executor_;  // outlives the executable
  std::unique_ptr<Executable> executable_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace plait
