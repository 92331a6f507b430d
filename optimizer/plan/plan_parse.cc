#include <limits>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/limits.h"
#include "base/status_macros.h"
#include "optimizer/ir/text_scanner.h"
#include "optimizer/plan/plan.h"

namespace plait {
namespace {

constexpr int kIntMax = std::numeric_limits<int>::max();
constexpr int kVersionWithPredicted = 4;

class PlanParser {
 public:
  explicit PlanParser(bool header_only) : header_only_(header_only) {}

  absl::StatusOr<Plan> Parse(absl::string_view text) {
    int line_number = 0;
    for (const absl::string_view line : absl::StrSplit(text, '\n')) {
      ++line_number;
      TextScanner scanner(line);
      if (scanner.AtEnd()) continue;
      absl::Status status = ParseLine(&scanner);
      if (status.ok()) status = scanner.ExpectEnd();
      if (!status.ok()) return Annotate(status, absl::StrCat("plan: line ", line_number));
      if (header_only_ && stage_ == Stage::kValues) return std::move(plan_);
    }
    if (stage_ != Stage::kClosed) {
      return absl::InvalidArgumentError(
          absl::StrCat("plan: line ", line_number, ": the text ends before the plan's '}'"));
    }
    return std::move(plan_);
  }

 private:
  // One line each, in this order; kValues and kSteps take any number.
  enum class Stage {
    kOpening,
    kGraph,
    kDevice,
    kEngine,
    kPrecision,
    kPredicted,
    kThreads,
    kStreams,
    kArena,
    kValues,
    kSteps,
    kClosed
  };

  absl::Status ParseLine(TextScanner* scanner) {
    if (stage_ == Stage::kClosed) return scanner->ExpectEnd();
    if (stage_ < Stage::kValues) {
      PLAIT_RETURN_IF_ERROR(ParseHeader(scanner));
      Advance();
      // Version 3 had no such line: all of its plans were measured.
      if (stage_ == Stage::kPredicted && version_ < kVersionWithPredicted) Advance();
      return absl::OkStatus();
    }
    if (stage_ == Stage::kValues && scanner->Consume("value ")) return ParseValue(scanner);
    stage_ = Stage::kSteps;
    if (scanner->Consume("step ")) return ParseStep(scanner);
    stage_ = Stage::kClosed;
    return scanner->Expect("}");
  }

  void Advance() { stage_ = static_cast<Stage>(static_cast<int>(stage_) + 1); }

  absl::Status ParseHeader(TextScanner* scanner) {
    switch (stage_) {
      case Stage::kOpening:
        return ParseOpening(scanner);
      case Stage::kGraph:
        return ParseString("graph ", &plan_.graph_fingerprint, scanner);
      case Stage::kDevice:
        return ParseString("device ", &plan_.device_fingerprint, scanner);
      case Stage::kEngine:
        return ParseString("engine ", &plan_.engine_version, scanner);
      case Stage::kPrecision:
        return ParseString("precision ", &plan_.precision, scanner);
      case Stage::kPredicted:
        return ParseInt("predicted ", 0, 1, &plan_.predicted, scanner);
      case Stage::kThreads:
        return ParseInt("threads ", 1, kPlanThreadsMax, &plan_.threads, scanner);
      case Stage::kStreams:
        return ParseInt("streams ", 1, kPlanStreamsMax, &plan_.streams, scanner);
      default:
        return ParseInt("arena ", 0, kArenaBytesMax, &plan_.arena_bytes, scanner);
    }
  }

  absl::Status ParseOpening(TextScanner* scanner) {
    PLAIT_RETURN_IF_ERROR(scanner->Expect("plan "));
    PLAIT_ASSIGN_OR_RETURN(version_, scanner->Integer(0, kIntMax));
    if (version_ < Plan::kVersionMin || version_ > Plan::kVersion) {
      return absl::UnimplementedError(
          absl::StrCat("the plan has version ", version_, ", this program reads versions ",
                       Plan::kVersionMin, " and ", Plan::kVersion, "; optimize the model again"));
    }
    return scanner->Expect("{");
  }

  static absl::Status ParseString(absl::string_view key, std::string* value, TextScanner* scanner) {
    PLAIT_RETURN_IF_ERROR(scanner->Expect(key));
    PLAIT_ASSIGN_OR_RETURN(*value, scanner->Quoted());
    return absl::OkStatus();
  }

  template <typename T>
  static absl::Status ParseInt(absl::string_view key, int64_t low, int64_t high, T* value,
                               TextScanner* scanner) {
    PLAIT_RETURN_IF_ERROR(scanner->Expect(key));
    PLAIT_ASSIGN_OR_RETURN(const int64_t number, scanner->Integer(low, high));
    *value = static_cast<T>(number);
    return absl::OkStatus();
  }

  // A list of integers in [0, high].
  static absl::Status ParseInts(absl::string_view key, int64_t high, std::vector<int>* values,
                                TextScanner* scanner) {
    PLAIT_RETURN_IF_ERROR(scanner->Expect(key));
    PLAIT_RETURN_IF_ERROR(scanner->Expect("["));
    while (!scanner->Consume("]")) {
      if (!values->empty()) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
      PLAIT_ASSIGN_OR_RETURN(const int64_t value, scanner->Integer(0, high));
      values->push_back(static_cast<int>(value));
    }
    return absl::OkStatus();
  }

  static absl::StatusOr<Format> ParseFormat(TextScanner* scanner) {
    PLAIT_ASSIGN_OR_RETURN(const absl::string_view name, scanner->Word());
    const std::optional<Format> format = FormatFromName(name);
    if (format.has_value()) return *format;
    return absl::InvalidArgumentError(
        absl::StrCat("expected a format, found \"", name.substr(0, 40), "\""));
  }

  static absl::Status ParseFormats(absl::string_view key, std::vector<Format>* formats,
                                   TextScanner* scanner) {
    PLAIT_RETURN_IF_ERROR(scanner->Expect(key));
    PLAIT_RETURN_IF_ERROR(scanner->Expect("["));
    while (!scanner->Consume("]")) {
      if (!formats->empty()) PLAIT_RETURN_IF_ERROR(scanner->Expect(","));
      PLAIT_ASSIGN_OR_RETURN(const Format format, ParseFormat(scanner));
      formats->push_back(format);
    }
    return absl::OkStatus();
  }

  absl::Status ParseValue(TextScanner* scanner) {
    Value value;
    Buffer& buffer = value.buffer;
    PLAIT_RETURN_IF_ERROR(ParseInt("tensor=", 0, kIntMax, &value.tensor, scanner));
    PLAIT_RETURN_IF_ERROR(scanner->Expect("format="));
    PLAIT_ASSIGN_OR_RETURN(value.format, ParseFormat(scanner));
    PLAIT_RETURN_IF_ERROR(ParseInt("offset=", 0, plan_.arena_bytes, &buffer.offset_bytes, scanner));
    PLAIT_RETURN_IF_ERROR(
        ParseInt("size=", 0, plan_.arena_bytes - buffer.offset_bytes, &buffer.size_bytes, scanner));
    if (scanner->Sees("alias=")) {
      // Of an earlier value, so that aliases form no cycle.
      const int64_t last = static_cast<int64_t>(plan_.values.size()) - 1;
      PLAIT_RETURN_IF_ERROR(ParseInt("alias=", 0, last, &value.alias_of, scanner));
      if (scanner->Sees("first_channel=")) {
        PLAIT_RETURN_IF_ERROR(
            ParseInt("first_channel=", 0, kArenaBytesMax, &value.first_channel, scanner));
      }
    }
    plan_.values.push_back(value);
    return absl::OkStatus();
  }

  absl::Status ParseStep(TextScanner* scanner) {
    const int64_t last_step = static_cast<int64_t>(plan_.steps.size()) - 1;
    const int64_t last_value = static_cast<int64_t>(plan_.values.size()) - 1;
    Step& step = plan_.steps.emplace_back();
    Kernel& kernel = step.kernel;
    PLAIT_RETURN_IF_ERROR(ParseInt("stream=", 0, plan_.streams - 1, &step.stream, scanner));
    PLAIT_RETURN_IF_ERROR(ParseInt("width=", 1, plan_.threads, &kernel.width, scanner));
    PLAIT_RETURN_IF_ERROR(ParseString("family=", &kernel.family, scanner));
    PLAIT_RETURN_IF_ERROR(ParseString("variant=", &kernel.variant, scanner));
    PLAIT_RETURN_IF_ERROR(ParseInts("nodes=", kModelNodesMax - 1, &kernel.nodes, scanner));
    PLAIT_RETURN_IF_ERROR(ParseInts("waits=", last_step, &step.waits, scanner));
    PLAIT_RETURN_IF_ERROR(ParseInts("inputs=", last_value, &step.inputs, scanner));
    PLAIT_RETURN_IF_ERROR(ParseFormats("input_formats=", &kernel.input_formats, scanner));
    PLAIT_RETURN_IF_ERROR(ParseInts("outputs=", last_value, &step.outputs, scanner));
    return ParseFormats("output_formats=", &kernel.output_formats, scanner);
  }

  const bool header_only_;
  Stage stage_ = Stage::kOpening;
  int64_t version_ = 0;
  Plan plan_;
};

absl::StatusOr<Plan> ParseText(absl::string_view text, bool header_only) {
  if (static_cast<int64_t>(text.size()) > kGraphTextBytesMax) {
    return absl::InvalidArgumentError(absl::StrCat(
        "plan: the text has at most ", kGraphTextBytesMax, " bytes, this one has ", text.size()));
  }
  return PlanParser(header_only).Parse(text);
}

}  // namespace

absl::StatusOr<Plan> ParsePlan(absl::string_view text) { return ParseText(text, false); }
absl::StatusOr<Plan> ParsePlanHeader(absl::string_view text) { return ParseText(text, true); }

}  // namespace plait
