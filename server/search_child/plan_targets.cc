#include "server/search_child/plan_targets.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/onnx/assume_batch.h"
#include "proto/wire/plan_options.h"
#include "server/search_child/result_file.h"
#include "server/search_child/shape_variables.h"

namespace plait {
namespace {

// Every bucket of each variable with every one of the others, the lowest first.
absl::StatusOr<std::vector<Bindings>> BucketShapes(const ShapeVariables& variables,
                                                   const Bindings& fixed) {
  std::vector<Bindings> shapes = {fixed};
  for (const auto& [key, variable] : variables) {
    std::vector<Bindings> next;
    const std::vector<int64_t> sizes = BucketsOf(variable);
    if (shapes.size() * sizes.size() > kPlansPerModelMax) {
      return InvalidPlans(absl::StrCat("options.shape_ranges: more than ", kPlansPerModelMax,
                                       " plans, one for each power of two in each range"));
    }
    for (const Bindings& before : shapes) {
      for (const int64_t size : sizes) {
        Bindings& with = next.emplace_back(before);
        for (const auto& [input, axis] : variable.places) with[input][axis] = size;
      }
    }
    shapes = std::move(next);
  }
  return shapes;
}

// Shapes that a job gives; those of ranges are filled in later.
Bindings GivenShapes(const v1::OptimizeOptions& options) {
  Bindings given;
  for (const auto& [name, shape] : options.shapes()) {
    given[name] = Shape(shape.dims().begin(), shape.dims().end());
  }
  for (const auto& [name, range] : options.shape_ranges()) {
    given[name] = Shape(range.dims_size(), 1);
  }
  return given;
}

absl::StatusOr<std::vector<Bindings>> ShapesOf(const Model& model,
                                               const v1::OptimizeOptions& options,
                                               std::vector<std::string>* warnings) {
  const Bindings fixed = GivenShapes(options);
  PLAIT_ASSIGN_OR_RETURN(const ShapeVariables variables, VariablesOf(model, options));
  PLAIT_ASSIGN_OR_RETURN(std::vector<Bindings> shapes, BucketShapes(variables, fixed));
  std::vector<std::string> assumed;
  for (Bindings& bindings : shapes) {
    assumed.clear();
    bindings = WithBatchOfOne(model, std::move(bindings), &assumed);
  }
  const bool stays_open = BodyOf(options) == Body::kOriginal;
  for (const std::string& dimension : assumed) {
    warnings->push_back(
        absl::StrCat(dimension, " is open, and 1 in the plan",
                     stays_open ? ", which is bound to the size that the file is run at" : "",
                     " (--shape gives another, --shape-range a plan for several)"));
  }
  return shapes;
}

// In the order in which they are asked for.
std::vector<int> ThreadsOfPlans(const v1::OptimizeOptions& options,
                                const DeviceDescription& device) {
  std::vector<int> threads;
  for (const v1::PlanFor& plan : options.plan_for()) {
    threads.insert(threads.end(), plan.threads().begin(), plan.threads().end());
  }
  if (threads.empty()) threads.push_back(ThreadsOfJob(options, device.threads));
  return threads;
}

}  // namespace

bool LeavesBatchOpen(const Model& model, const v1::OptimizeOptions& options) {
  std::vector<std::string> assumed;
  WithBatchOfOne(model, GivenShapes(options), &assumed);
  return !assumed.empty();
}

absl::StatusOr<std::vector<PlanTarget>> PlanTargetsOf(const Model& model,
                                                      const v1::OptimizeOptions& options,
                                                      const DeviceDescription& device,
                                                      std::vector<std::string>* warnings) {
  // Once more: the worker may be another one than when the job was taken.
  PLAIT_RETURN_IF_ERROR(wire::CheckThreads(options, device.threads));
  const std::vector<int> threads = ThreadsOfPlans(options, device);
  PLAIT_ASSIGN_OR_RETURN(const std::vector<Bindings> shapes, ShapesOf(model, options, warnings));
  if (threads.size() * shapes.size() > kPlansPerModelMax) {
    return InvalidPlans(absl::StrCat("at most ", kPlansPerModelMax,
                                     " plans are allowed, asked for are ", threads.size(),
                                     " numbers of threads for ", shapes.size(), " shapes"));
  }
  std::vector<PlanTarget> targets;
  for (const Bindings& bindings : shapes) {
    for (const int count : threads) {
      targets.push_back({count, bindings, count > device.threads});
    }
  }
  return targets;
}

int ThreadsOfJob(const v1::OptimizeOptions& options, int device_threads) {
  return options.threads() > 0 ? options.threads() : device_threads;
}

DeviceDescription DeviceWithThreads(DeviceDescription device, int threads) {
  if (threads > device.threads) {
    device.fingerprint = FingerprintWithThreads(device.fingerprint, threads);
  }
  device.threads = threads;
  return device;
}

}  // namespace plait
