#include <optional>
#include <utility>

#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "base/instruction_set_names.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "loading/embedded.h"
#include "optimizer/onnx/import.h"
#include "proto/wire/error.h"

// For scripts: 0 whether or not a plan is there or fits; "fits" says whether `run` and `bench`
// would use it here, by the same checks. A plan whose text is damaged has null for what it would
// say.

namespace plait {
namespace {

std::vector<OptionSpec> Options() {
  std::vector<OptionSpec> options;
  AddLoadingOptions(&options);
  return options;
}

// "cpu;_name;_make;_avx512;_threads=2": the field that names a set. nullptr for other devices.
Json InstructionSetOf(absl::string_view fingerprint) {
  for (absl::string_view field : absl::StrSplit(fingerprint, ';')) {
    field = absl::StripPrefix(field, "_");
    if (!field.empty() && ExpectedInstructionSet(field).empty()) return std::string(field);
  }
  return nullptr;
}

Json PlanJson(const EmbeddedPlan& embedded, const absl::Status& fits) {
  Json json = {{"device", nullptr},  {"threads", nullptr}, {"instruction_set", nullptr},
               {"kernels", nullptr}, {"streams", nullptr}, {"arena_bytes", nullptr}};
  // A longer text is not read at all.
  const bool is_short = embedded.plan.size() <= static_cast<size_t>(kGraphTextBytesMax);
  const absl::StatusOr<Plan> plan = ParsePlan(is_short ? embedded.plan : "");
  if (plan.ok()) {
    json["device"] = plan->device_fingerprint;
    json["threads"] = plan->threads;
    json["instruction_set"] = InstructionSetOf(plan->device_fingerprint);
    json["kernels"] = plan->steps.size();
    json["streams"] = plan->streams;
    json["arena_bytes"] = plan->arena_bytes;
  }
  json["engine_version"] = embedded.version;
  json["fits"] = fits.ok();
  json["reason"] = std::string(fits.message());
  return json;
}

std::string Table(const Json& plans) {
  if (plans.empty()) return "no plan is in the model (plait optimize makes one)\n";
  std::string text;
  for (const Json& plan : plans) {
    const auto number = [&](const char* name) {
      return plan[name].is_null() ? 0 : plan[name].get<int64_t>();
    };
    const std::string device = plan["device"].is_null() ? "unknown" : plan.value("device", "");
    absl::StrAppendFormat(&text,
                          "device       %s\nengine       %s\nthreads      %d\nkernels      %d\n"
                          "streams      %d\narena bytes  %d\nfits         %s\n",
                          device, plan.value("engine_version", ""), number("threads"),
                          number("kernels"), number("streams"), number("arena_bytes"),
                          plan.value("fits", false) ? "yes" : "no: " + plan.value("reason", ""));
  }
  return text;
}

// OK, or why the plan inside the model is not used.
absl::Status CheckFits(const Model& model, const Bindings& shapes, Executor& executor) {
  PlanReason reason = PlanReason::kNone;
  PLAIT_ASSIGN_OR_RETURN(LoadedPlan planned, ReadPlan(model, &reason));
  PLAIT_ASSIGN_OR_RETURN(const Bound bound, Bind(model, ShapesFor(model, planned, shapes)));
  return LoadPlan(std::move(planned), bound.graph, executor, &reason).status();
}

absl::StatusOr<ExitCode> RunPlans(const CommandContext& context) {
  const std::string& path = context.arguments.positionals()[0];
  const auto rejected = [&](const absl::Status& status) {
    return wire::WithReason(Annotate(status, path), v1::ERROR_REASON_MODEL_REJECTED);
  };
  PLAIT_ASSIGN_OR_RETURN(const std::string bytes, ReadModelFile(path));
  const absl::StatusOr<Model> model = ImportOnnx(bytes);
  if (!model.ok()) return rejected(model.status());
  Json json;
  json["schema_version"] = 1;
  json["path"] = path;
  json["plans"] = Json::array();
  const absl::StatusOr<std::optional<EmbeddedPlan>> embedded = ReadEmbeddedPlan(*model);
  if (!embedded.ok()) return rejected(embedded.status());
  if (embedded->has_value()) {
    PLAIT_ASSIGN_OR_RETURN(const std::unique_ptr<Executor> executor, OpenDevice(context.arguments));
    const Bindings shapes = LoadingOptions(context.arguments).shapes;
    json["plans"].push_back(PlanJson(**embedded, CheckFits(*model, shapes, *executor)));
  }
  context.console.out << (context.console.json ? JsonText(json) : Table(json["plans"]));
  return ExitCode::kOk;
}

}  // namespace

const Command kPlansCommand = {
    .name = "plans",
    .positionals = "MODEL",
    .summary = "list the plans inside a model, and whether they fit this machine",
    .examples =
        "  plait plans faster.onnx\n"
        "  plait plans faster.onnx --threads 4 --json\n",
    .options = Options,
    .run = RunPlans,
};

}  // namespace plait
