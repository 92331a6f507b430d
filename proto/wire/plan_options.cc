#include "proto/wire/plan_options.h"

#include <set>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "proto/wire/error.h"
#include "proto/wire/names.h"

namespace plait::wire {
namespace {

absl::Status CheckPlanFor(v1::OptimizeOptions& options) {
  std::set<int> known;
  for (v1::PlanFor& plan : *options.mutable_plan_for()) {
    if (plan.device().empty()) plan.set_device(options.device());
    if (plan.device() != options.device()) {
      return InvalidOption(
          "plan_for",
          absl::StrCat("must be for the job's device, \"",
                       absl::CHexEscape(options.device().substr(0, 80)), "\", is for \"",
                       absl::CHexEscape(plan.device().substr(0, 80)),
                       "\" (nothing else measures in this job; optimize its result "
                       "again with --device or on the other machine: it keeps the plans "
                       "that are inside)"));
    }
    if (plan.threads().empty()) return InvalidOption("plan_for", "must name numbers of threads");
    for (const int threads : plan.threads()) {
      if (threads < 1 || threads > kThreadsMax) {
        return InvalidOption("plan_for",
                             absl::StrCat("threads must be 1 to ", kThreadsMax, ", is ", threads));
      }
      if (!known.insert(threads).second) {
        return InvalidOption("plan_for", absl::StrCat("names ", threads, " threads twice"));
      }
    }
  }
  if (known.size() > kPlansPerModelMax) {
    return InvalidOption("plan_for",
                         absl::StrCat("at most ", kPlansPerModelMax, " plans are allowed"));
  }
  if (!known.empty() && options.threads() != 0) {
    return InvalidOption("threads", "must be 0 where plan_for names numbers of threads");
  }
  return absl::OkStatus();
}

absl::Status CheckRange(absl::string_view name, const v1::ShapeRange& range) {
  if (name.empty() || name.size() > kNameBytesMax) {
    return InvalidOption("shape_ranges", absl::StrCat("an input's name must have 1 to ",
                                                      kNameBytesMax, " bytes, has ", name.size()));
  }
  const std::string field = absl::StrCat("shape_ranges[", absl::CHexEscape(name), "]");
  if (range.dims_size() > kTensorRankMax) {
    return InvalidOption(field, absl::StrCat("at most ", kTensorRankMax,
                                             " dimensions are allowed, has ", range.dims_size()));
  }
  int64_t elements = 1;
  for (const v1::DimRange& dim : range.dims()) {
    if (dim.low() < 1 || dim.high() < dim.low()) {
      return InvalidOption(field, absl::StrCat("a range must go upwards from at least 1, one is ",
                                               dim.low(), "..", dim.high()));
    }
    // A division, because the product could overflow.
    if (dim.high() > kTensorElementsMax / elements) {
      return InvalidOption(field, absl::StrCat("more than ", kTensorElementsMax, " elements"));
    }
    elements *= dim.high();
  }
  return absl::OkStatus();
}

absl::Status CheckShapeRanges(const v1::OptimizeOptions& options) {
  if (options.shape_ranges().size() > kShapesMax) {
    return InvalidOption("shape_ranges",
                         absl::StrCat("at most ", kShapesMax, " inputs are allowed, has ",
                                      options.shape_ranges().size()));
  }
  for (const auto& [name, range] : options.shape_ranges()) {
    PLAIT_RETURN_IF_ERROR(CheckRange(name, range));
    if (options.shapes().contains(name)) {
      return InvalidOption("shape_ranges", absl::StrCat("\"", absl::CHexEscape(name),
                                                        "\" has a shape in options.shapes"));
    }
  }
  return absl::OkStatus();
}

bool HasSeveralPlans(const v1::OptimizeOptions& options) {
  int threads = 0;
  for (const v1::PlanFor& plan : options.plan_for()) threads += plan.threads_size();
  return threads > 1 || !options.shape_ranges().empty();
}

}  // namespace

absl::Status InvalidOption(absl::string_view field, absl::string_view description) {
  return FieldError(absl::StrCat("options.", field), description);
}

absl::Status CheckPlanOptions(v1::OptimizeOptions& options) {
  PLAIT_RETURN_IF_ERROR(CheckPlanFor(options));
  PLAIT_RETURN_IF_ERROR(CheckShapeRanges(options));
  // Another body has the weights of one graph only.
  const bool is_original = options.body() == "original" || options.body() == "auto";
  if (HasSeveralPlans(options) && (!is_original || options.opset() != 0)) {
    return InvalidOption(
        "body", "must be \"original\" or \"auto\", without opset, for a file with several plans");
  }
  return absl::OkStatus();
}

std::string TooManyThreads(absl::string_view device, int has, int64_t asked) {
  return absl::StrCat(device, " has ", has,
                      device == kComparingDevice ? " by affinity, cpuset, quota and settings" : "",
                      ", asked for are ", asked);
}

absl::Status CheckThreads(const v1::OptimizeOptions& options, int device_threads) {
  const std::string& device = options.device();
  if (options.threads() > device_threads) {
    return InvalidOption(
        "threads",
        absl::StrCat(TooManyThreads(device, device_threads, options.threads()),
                     " (0: all of them; --plan-for ", device, ":threads=", device_threads, ",",
                     options.threads(), " --allow-predicted plans for more by predicted times)"));
  }
  bool is_first = true;
  for (const v1::PlanFor& plan : options.plan_for()) {
    for (const int threads : plan.threads()) {
      if (threads > device_threads && (is_first || !options.allow_predicted())) {
        return InvalidOption(
            "plan_for",
            absl::StrCat(TooManyThreads(device, device_threads, threads),
                         " (the first number is what the report is of, and has to be measured; "
                         "--allow-predicted plans for further ones by predicted times)"));
      }
      is_first = false;
    }
  }
  return absl::OkStatus();
}

}  // namespace plait::wire
