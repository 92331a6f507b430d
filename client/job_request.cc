#include "client/job_request.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "client/input_sets.h"
#include "client/plan_options.h"
#include "client/shape_option.h"
#include "proto/wire/options.h"

namespace plait {

namespace {

// "a, b or c".
std::string NamesHelp(absl::Span<const absl::string_view> names) {
  if (names.size() == 1) return std::string(names.back());
  return absl::StrCat(absl::StrJoin(names.subspan(0, names.size() - 1), ", "), " or ",
                      names.back());
}

}  // namespace

void AddJobOptions(std::vector<OptionSpec>* options) {
  // Static, because an OptionSpec borrows its texts.
  static const std::string search =
      absl::StrCat(NamesHelp(wire::SearchPolicies()), "; default ", wire::kPolicyDefault);
  static const std::string schedule =
      absl::StrCat(NamesHelp(wire::SchedulePolicies()), "; default ", wire::kPolicyDefault);
  static const std::string precision =
      absl::StrCat(NamesHelp(wire::Precisions()), "; default ", wire::Precisions().front());
  static const std::string body =
      absl::StrCat("the file's graph, for other runtimes: ", absl::StrJoin(wire::Bodies(), ", "));
  const OptionSpec specs[] = {
      {"--device", OptionKind::kText, "DEVICE", "as plait devices lists them; default cpu"},
      {"--search", OptionKind::kText, "POLICY", search},
      {"--schedule", OptionKind::kText, "POLICY", schedule},
      {"--threads", OptionKind::kInteger, "N", "threads that the model may use; 0: all"},
      {"--budget", OptionKind::kSeconds, "TIME", "how long all of it may take, such as 60s or 5m"},
      {"--seed", OptionKind::kInteger, "N", "of everything random; default 0"},
      {"--precision", OptionKind::kText, "FORMAT", precision},
      {"--max-rel-error", OptionKind::kNumber, "X",
       "how far outputs may be off; alone: precision auto; default of tf32: 0.001, fp16: 0.01, "
       "bf16: 0.05"},
      {"--accept-inconclusive", OptionKind::kSwitch, "",
       "return the fastest plan even if comparing outputs proves little"},
      kShapeOption,
      kShapeRangeOption,
      kPlanForOption,
      kAllowPredictedOption,
      kDropPlansOption,
      kInputsOption,
      {"--opset", OptionKind::kInteger, "N", "opset of the result; default: that of the model"},
      {"--body", OptionKind::kText, "BODY", body},
      {"--runtime", OptionKind::kText, "NAME",
       "measure in plait, onnxruntime or openvino, once for each; default: all there are"},
      {"--portable", OptionKind::kSwitch, "", "the same as --body portable"},
      {"--no-portable", OptionKind::kSwitch, "", "the same as --body searched"},
      {"--no-result-cache", OptionKind::kSwitch, "", "search again even if the result is known"},
  };
  options->insert(options->end(), std::begin(specs), std::end(specs));
}

absl::StatusOr<v1::OptimizeOptions> JobOptions(const Arguments& arguments) {
  v1::OptimizeOptions options;
  const auto number = [&](absl::string_view name) {
    // Cut to the largest number and not wrapped: the check then names the limit.
    return static_cast<int32_t>(
        std::min<int64_t>(arguments.Integer(name), std::numeric_limits<int32_t>::max()));
  };
  // In a request it would mean that nobody has said how long.
  if (arguments.Has("--budget") && arguments.Seconds("--budget") <= 0) {
    return absl::InvalidArgumentError("--budget: must be more than 0");
  }
  options.set_device(arguments.Text("--device"));
  options.set_search(arguments.Text("--search"));
  options.set_schedule(arguments.Text("--schedule"));
  options.set_threads(number("--threads"));
  options.set_budget_seconds(arguments.Seconds("--budget"));
  options.set_seed(static_cast<uint64_t>(arguments.Integer("--seed")));
  options.set_precision(arguments.Text("--precision"));
  options.set_max_rel_error(arguments.Number("--max-rel-error"));
  options.set_accept_inconclusive(arguments.Has("--accept-inconclusive"));
  options.set_opset(number("--opset"));
  if (arguments.Has("--portable") && arguments.Has("--no-portable")) {
    return absl::InvalidArgumentError("--portable and --no-portable exclude each other");
  }
  options.set_body(arguments.Text("--body"));
  for (const bool portable : {true, false}) {
    if (arguments.Has(portable ? "--portable" : "--no-portable")) options.set_portable(portable);
  }
  for (const std::string& name : arguments.Texts("--runtime")) options.add_runtimes(name);
  options.set_no_result_cache(arguments.Has("--no-result-cache"));
  for (const auto& [name, shape] : NamedShapes(arguments)) {
    v1::Shape& proto = (*options.mutable_shapes())[name];
    for (const int64_t dim : shape) proto.add_dims(dim);
  }
  AddPlanOptions(arguments, &options);
  return wire::CheckedOptions(options);
}

}  // namespace plait
