#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "optimizer/kernels/device.h"
#include "optimizer/onnx/bind.h"
#include "plait/v1/optimization.pb.h"

// For what a job makes plans: for how many threads, and for which shapes. Pure and thread-safe.
namespace plait {

// One plan of a job's file.
struct PlanTarget {
  int threads = 1;
  Bindings shapes;         // of inputs whose dimensions the model leaves open
  bool predicted = false;  // nothing can be measured: the device has fewer threads
};

// All of them, that of the report first: the lowest bucket with the first number of threads, then
// its other numbers, then the next bucket. Buckets of a range are its ends and the powers of two
// between them; dimensions of one symbol rise together. Where no shape is given, a dimension that
// is batch-like is 1, which `warnings` tell.
// Errors: InvalidArgument (INVALID_REQUEST) for a range that contradicts another one or the model,
// for more than kPlansPerModelMax plans, and for threads that the device has not, unless they may
// be planned by prediction; one plan at least has to be measured.
absl::StatusOr<std::vector<PlanTarget>> PlanTargetsOf(const Model& model,
                                                      const v1::OptimizeOptions& options,
                                                      const DeviceDescription& device,
                                                      std::vector<std::string>* warnings);

// Whether a dimension of the model stays open that neither shapes nor ranges give: it is 1 in the
// plans, and a graph with the plans' shapes is not what was asked for.
bool LeavesBatchOpen(const Model& model, const v1::OptimizeOptions& options);

// How many threads a job without `plan_for` is for: as many as it asks for, or all that there are.
int ThreadsOfJob(const v1::OptimizeOptions& options, int device_threads);

// The device as far as a plan for so many threads may use it. It keeps its fingerprint, under which
// its profiles are known, unless it has not so many threads.
DeviceDescription DeviceWithThreads(DeviceDescription device, int threads);

}  // namespace plait
