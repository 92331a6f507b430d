#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/file.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "client/merged_plans.h"
#include "loading/choose_plan.h"
#include "loading/default_plan.h"
#include "optimizer/onnx/import.h"
#include "optimizer/ops/shared/op_spec.h"
#include "optimizer/search/segments.h"
#include "proto/wire/error.h"

// For scripts: 0 whether or not plans are there or fit; "fits" says whether `run` and `bench` would
// use one here if it were alone, by the same checks, and "grade" how well it suits. A plan whose
// text is damaged has null for what it would say.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfPlans() {
  std::vector<OptionSpec> options = {
      {"--merge", OptionKind::kText, "FILE",
       "add the plans of this file, made from the same model elsewhere; once for each"},
      {"--output", OptionKind::kText, "FILE", "with --merge: the model with the plans of all",
       "-o"},
  };
  AddLoadingOptions(&options);
  return options;
}

// {"input": [1, 3, 224, 224]}
Json ShapesJson(const Graph& graph) {
  Json json = Json::object();
  for (const TensorId input : graph.inputs()) {
    const auto& name = graph.tensor(input).name;
    if (name != nullptr) json[*name] = graph.type(input).shape;
  }
  return json;
}

// Only a plan with a header says what it is for.
Json PlanJson(const FilePlan& plan) {
  Json json = {{"device", nullptr},      {"threads", nullptr},   {"instruction_set", nullptr},
               {"shapes", nullptr},      {"kernels", nullptr},   {"streams", nullptr},
               {"arena_bytes", nullptr}, {"precision", nullptr}, {"predicted", nullptr}};
  if (plan.status.ok()) {
    const Plan& header = plan.header;
    const absl::string_view instructions = InstructionSetOfFingerprint(header.device_fingerprint);
    json["device"] = header.device_fingerprint;
    json["threads"] = header.threads;
    if (!instructions.empty()) json["instruction_set"] = std::string(instructions);
    json["streams"] = header.streams;
    json["arena_bytes"] = header.arena_bytes;
    json["precision"] = header.precision;
    json["predicted"] = header.predicted;
    const absl::StatusOr<Plan> whole = ParsePlan(plan.texts.plan);
    if (whole.ok()) json["kernels"] = whole->steps.size();
    const absl::StatusOr<Graph> graph = ParseTypedGraph(plan.texts.graph);
    if (graph.ok()) json["shapes"] = ShapesJson(*graph);
  }
  json["engine_version"] = plan.texts.version;
  return json;
}

std::string PlanShapesText(const Json& shapes) {
  std::string text;
  for (const auto& [name, dims] : shapes.items()) {
    absl::StrAppend(&text, text.empty() ? "" : ", ", name, "=",
                    absl::StrJoin(dims.get<std::vector<int64_t>>(), "x"));
  }
  return text;
}

std::string FitText(const Json& plan) {
  if (!plan.value("fits", false)) return "no: " + plan.value("reason", "");
  const std::string reason = plan.value("reason", "");
  return reason.empty() ? "yes" : "yes: " + reason;
}

std::string PlansTable(const Json& plans) {
  if (plans.empty()) return "no plan is in the model (plait optimize makes one)\n";
  std::string text;
  for (const Json& plan : plans) {
    const auto number = [&](const char* name) {
      return plan[name].is_null() ? 0 : plan[name].get<int64_t>();
    };
    const std::string device = plan["device"].is_null() ? "unknown" : plan.value("device", "");
    const bool predicted = !plan["predicted"].is_null() && plan["predicted"].get<bool>();
    // A line between plans.
    absl::StrAppendFormat(&text,
                          "%sdevice       %s\nengine       %s\nthreads      %d\nshapes       %s\n"
                          "made         %s\nkernels      %d\nstreams      %d\narena bytes  %d\n"
                          "fits         %s\n",
                          text.empty() ? "" : "\n", device, plan.value("engine_version", ""),
                          number("threads"), PlanShapesText(plan["shapes"]),
                          predicted ? "by predicted times" : "by measuring", number("kernels"),
                          number("streams"), number("arena_bytes"), FitText(plan));
  }
  return text;
}

// The parts that plans are for of a model with nodes that plait lacks; none of another one.
std::vector<Graph> PartsOf(const Model& model, absl::Span<const FilePlan> plans,
                           const Bindings& shapes) {
  const absl::StatusOr<Bound> bound = Bind(model, ShapesOfPlans(model, plans, shapes));
  if (!bound.ok() || !HasOpaqueNodes(bound->graph)) return {};
  return IslandsOf(bound->graph);
}

PlanChoice ChoiceFor(const Model& model, absl::Span<const Graph> parts, const FilePlan& plan,
                     const Bindings& shapes, Executor& executor) {
  const absl::StatusOr<Graph> graph = ParseTypedGraph(plan.texts.graph);
  const auto part = std::find_if(parts.begin(), parts.end(), [&](const Graph& one) {
    return graph.ok() && HaveSameInterface(*graph, one);
  });
  if (part == parts.end()) return ChoosePlan(model, {&plan, 1}, shapes, executor);
  return ChoosePlanOfPart(model, *part, {&plan, 1}, executor);
}

// What `run` would do with this plan, or plait.InferenceSession with that of a part, if it were the
// only one, for its own shapes unless others are given.
void AddFit(const PlanChoice& choice, Json* json) {
  const bool fits = choice.loaded.has_value();
  absl::string_view reason = choice.explanation;
  absl::ConsumePrefix(&reason, "the plan in the model is ignored: ");
  (*json)["fits"] = fits;
  (*json)["grade"] = std::string(PlanGradeName(choice.grade));
  (*json)["reason"] = choice.grade == PlanGrade::kExact ? "" : std::string(reason);
}

// Writes what --merge asks for. Returns the file to list.
absl::StatusOr<std::string> MergedFile(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  std::vector<std::string> paths = {arguments.positionals()[0]};
  if (arguments.Has("--merge") != arguments.Has("--output")) {
    return absl::InvalidArgumentError("--merge and --output need each other");
  }
  if (!arguments.Has("--merge")) return paths[0];
  for (const std::string& path : arguments.Texts("--merge")) paths.push_back(path);
  const std::string output = arguments.Text("--output");
  PLAIT_RETURN_IF_ERROR(CheckWritable(output));
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const std::string merged, MergePlanFiles(paths, &warnings));
  PrintWarnings(context.console, warnings);
  PLAIT_RETURN_IF_ERROR(WriteFile(output, merged));
  return output;
}

absl::StatusOr<ExitCode> RunPlans(const CommandContext& context) {
  PLAIT_ASSIGN_OR_RETURN(const std::string path, MergedFile(context));
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
  const std::vector<FilePlan> plans = ReadFilePlans(*model);
  const Bindings shapes = LoadingOptions(context.arguments).shapes;
  const std::vector<Graph> parts = PartsOf(*model, plans, shapes);
  std::unique_ptr<Executor> executor;
  for (const FilePlan& plan : plans) {
    if (executor == nullptr) {
      PLAIT_ASSIGN_OR_RETURN(executor, OpenDevice(context.arguments));
    }
    Json& listed = json["plans"].emplace_back(PlanJson(plan));
    AddFit(ChoiceFor(*model, parts, plan, shapes, *executor), &listed);
  }
  context.console.out << (context.console.json ? JsonText(json) : PlansTable(json["plans"]));
  return ExitCode::kOk;
}

}  // namespace

const Command kPlansCommand = {
    .name = "plans",
    .positionals = "MODEL",
    .summary =
        "list the plans inside a model, and whether they fit this machine; or bring those of "
        "several files together",
    .examples =
        "  plait plans faster.onnx\n"
        "  plait plans faster.onnx --threads 2 --json\n"
        "  plait plans laptop.onnx --merge server.onnx -o both.onnx\n",
    .options = OptionsOfPlans,
    .run = RunPlans,
};

}  // namespace plait
