#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "optimizer/ir/text_scanner.h"
#include "optimizer/plan/plan.h"

namespace plait {
namespace {

void AppendInts(absl::string_view key, const std::vector<int>& values, std::string* text) {
  absl::StrAppend(text, " ", key, "=[", absl::StrJoin(values, ","), "]");
}

void AppendFormats(absl::string_view key, const std::vector<Format>& formats, std::string* text) {
  absl::StrAppend(text, " ", key, "=[",
                  absl::StrJoin(formats, ",",
                                [](std::string* out, Format format) {
                                  absl::StrAppend(out, FormatName(format));
                                }),
                  "]");
}

void AppendValue(const Value& value, std::string* text) {
  absl::StrAppend(text, "  value tensor=", value.tensor, " format=", FormatName(value.format),
                  " offset=", value.buffer.offset_bytes, " size=", value.buffer.size_bytes);
  if (value.alias_of >= 0) absl::StrAppend(text, " alias=", value.alias_of);
  if (value.first_channel >= 0) absl::StrAppend(text, " first_channel=", value.first_channel);
  absl::StrAppend(text, "\n");
}

void AppendStep(const Step& step, std::string* text) {
  absl::StrAppend(text, "  step stream=", step.stream, " width=", step.kernel.width,
                  " family=", Quote(step.kernel.family), " variant=", Quote(step.kernel.variant));
  AppendInts("nodes", step.kernel.nodes, text);
  AppendInts("waits", step.waits, text);
  AppendInts("inputs", step.inputs, text);
  AppendFormats("input_formats", step.kernel.input_formats, text);
  AppendInts("outputs", step.outputs, text);
  AppendFormats("output_formats", step.kernel.output_formats, text);
  absl::StrAppend(text, "\n");
}

}  // namespace

std::string PrintPlan(const Plan& plan) {
  std::string text = absl::StrCat("plan ", Plan::kVersion, " {\n");
  absl::StrAppend(&text, "  graph ", Quote(plan.graph_fingerprint), "\n");
  absl::StrAppend(&text, "  device ", Quote(plan.device_fingerprint), "\n");
  absl::StrAppend(&text, "  engine ", Quote(plan.engine_version), "\n");
  absl::StrAppend(&text, "  precision ", Quote(plan.precision), "\n");
  absl::StrAppend(&text, "  predicted ", plan.predicted ? 1 : 0, "\n");
  absl::StrAppend(&text, "  threads ", plan.threads, "\n  streams ", plan.streams, "\n  arena ",
                  plan.arena_bytes, "\n");
  for (const Value& value : plan.values) AppendValue(value, &text);
  for (const Step& step : plan.steps) AppendStep(step, &text);
  absl::StrAppend(&text, "}\n");
  return text;
}

}  // namespace plait
