#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/files/model.h"
#include "client/json.h"
#include "client/kernel_list/kernel_list.h"
#include "client/shape_option.h"
#include "optimizer/cost/described_device.h"
#include "optimizer/normal_form/canonicalize.h"
#include "proto/wire/error.h"

// For whoever records a GPU: --jsonl is what bench/gpu takes, a line for each kernel. Nothing is
// measured, and no device is needed.

namespace plait {
namespace {

constexpr char kDeviceDefault[] = "model:h200";

std::vector<OptionSpec> OptionsOfKernels() {
  return {{"--device", OptionKind::kText, "DEVICE",
           "described device that kernels are planned for (model:h200)"},
          {"--jsonl", OptionKind::kSwitch, "", "a line of JSON for each kernel"},
          kShapeOption};
}

Json KernelJson(const ListedKernel& kernel) {
  Json json = {{"family", kernel.family},
               {"graph", kernel.graph},
               {"formats", kernel.formats},
               {"cold_weights", true}};
  json.update(kernel.problem);
  json["count"] = kernel.count;
  json["planned"] = kernel.planned;
  json["origin"] = kernel.count > 0 ? "model" : "rewrite";
  json["priority"] = kernel.planned ? 0 : kernel.count > 0 ? 1 : 2;
  return json;
}

std::string KernelsTable(const std::vector<ListedKernel>& kernels) {
  struct Row {
    int planned = 0;
    int model = 0;
    int rewrite = 0;
  };
  std::map<std::string, Row> rows;
  for (const ListedKernel& kernel : kernels) {
    Row& row = rows[kernel.family];
    ++(kernel.planned ? row.planned : kernel.count > 0 ? row.model : row.rewrite);
  }
  std::string text =
      absl::StrFormat("%-16s %8s %8s %8s\n", "family", "in plans", "in model", "rewrites");
  for (const auto& [family, row] : rows) {
    absl::StrAppendFormat(&text, "%-16s %8d %8d %8d\n", family, row.planned, row.model,
                          row.rewrite);
  }
  return text;
}

absl::StatusOr<Graph> NormalFormOf(const CommandContext& context, const std::string& path) {
  PLAIT_ASSIGN_OR_RETURN(const Model model, ImportModel(path));
  std::vector<std::string> warnings;
  PLAIT_ASSIGN_OR_RETURN(const Bound bound, BindToRun(path, model, ReadFilePlans(model),
                                                      NamedShapes(context.arguments), &warnings));
  PrintWarnings(context.console, warnings);
  RuleCounts counts;
  return Canonicalize(bound.graph, AllRules(), &counts);
}

absl::StatusOr<ExitCode> RunKernels(const CommandContext& context) {
  const std::string& path = context.arguments.positionals()[0];
  const std::string id = context.arguments.Text("--device", kDeviceDefault);
  const absl::StatusOr<const DescribedDevice*> device = FindDescribedDevice(id);
  if (!device.ok()) {
    return wire::WithReason(device.status(), v1::ERROR_REASON_DEVICE_UNAVAILABLE);
  }
  PLAIT_ASSIGN_OR_RETURN(const Graph graph, NormalFormOf(context, path));
  PLAIT_ASSIGN_OR_RETURN(const std::vector<ListedKernel> kernels, ListKernels(graph, **device));
  if (context.arguments.Has("--jsonl")) {
    for (const ListedKernel& kernel : kernels) context.console.out << JsonLine(KernelJson(kernel));
    return ExitCode::kOk;
  }
  if (!context.console.json) {
    context.console.out << KernelsTable(kernels);
    return ExitCode::kOk;
  }
  Json json = {{"schema_version", 1}, {"path", path}, {"device", id}, {"kernels", Json::array()}};
  for (const ListedKernel& kernel : kernels) json["kernels"].push_back(KernelJson(kernel));
  context.console.out << JsonText(json);
  return ExitCode::kOk;
}

}  // namespace

const Command kKernelsCommand = {
    .name = "kernels",
    .positionals = "MODEL",
    .summary = "list the kernels that a GPU may run for a model",
    .examples =
        "  plait kernels model.onnx\n"
        "  plait kernels model.onnx --device model:h200 --jsonl > kernels.jsonl\n",
    .options = OptionsOfKernels,
    .run = RunKernels,
};

}  // namespace plait
