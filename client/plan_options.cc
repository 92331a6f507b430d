#include "client/plan_options.h"

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace plait {
namespace {

constexpr absl::string_view kThreads = ":threads=";
constexpr absl::string_view kTo = "..";

bool ParseRange(absl::string_view text, v1::DimRange* range) {
  int64_t low = 0;
  int64_t high = 0;
  const size_t split = text.find(kTo);
  if (split == absl::string_view::npos) {
    if (!absl::SimpleAtoi(text, &low)) return false;
    high = low;
  } else if (!absl::SimpleAtoi(text.substr(0, split), &low) ||
             !absl::SimpleAtoi(text.substr(split + kTo.size()), &high)) {
    return false;
  }
  range->set_low(low);
  range->set_high(high);
  return low >= 1 && high >= low;
}

}  // namespace

absl::string_view ExpectedPlanFor(absl::string_view value) {
  return ParsePlanFor(value).ok() ? "" : "DEVICE:threads=N,N such as cpu:threads=1,2,4";
}

absl::string_view ExpectedShapeRange(absl::string_view value) {
  return ParseShapeRange(value).ok() ? "" : "NAME=RANGES such as input=1..8x3x224x224";
}

absl::StatusOr<v1::PlanFor> ParsePlanFor(absl::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no plan"));
  // Devices have colons of their own.
  const size_t split = text.rfind(kThreads);
  if (split == absl::string_view::npos || split == 0) return wrong;
  v1::PlanFor plan;
  plan.set_device(std::string(text.substr(0, split)));
  for (const absl::string_view count : absl::StrSplit(text.substr(split + kThreads.size()), ',')) {
    int threads = 0;
    if (!absl::SimpleAtoi(count, &threads) || threads < 1) return wrong;
    plan.add_threads(threads);
  }
  return plan;
}

absl::StatusOr<std::pair<std::string, v1::ShapeRange>> ParseShapeRange(absl::string_view text) {
  const absl::Status wrong = absl::InvalidArgumentError(absl::StrCat("\"", text, "\" is no range"));
  // Names may hold '=': the ranges are behind the last one.
  const size_t split = text.rfind('=');
  if (split == absl::string_view::npos || split == 0) return wrong;
  v1::ShapeRange ranges;
  for (const absl::string_view range : absl::StrSplit(text.substr(split + 1), 'x')) {
    if (!ParseRange(range, ranges.add_dims())) return wrong;
  }
  return std::make_pair(std::string(text.substr(0, split)), std::move(ranges));
}

void AddPlanOptions(const Arguments& arguments, v1::OptimizeOptions* options) {
  // Their forms were checked when the command line was parsed.
  for (const std::string& text : arguments.Texts(kPlanForOption.name)) {
    *options->add_plan_for() = ParsePlanFor(text).value();
  }
  options->set_allow_predicted(arguments.Has(kAllowPredictedOption.name));
  options->set_drop_plans(arguments.Has(kDropPlansOption.name));
  for (const std::string& text : arguments.Texts(kShapeRangeOption.name)) {
    auto [name, range] = ParseShapeRange(text).value();
    (*options->mutable_shape_ranges())[name] = std::move(range);
  }
}

}  // namespace plait
