#include "client/doctor/runtimes.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/run_program.h"
#include "proto/wire/json.h"

namespace plait {
namespace {

using wire::Json;

// By the search for a program in PATH that the system has.
constexpr char kEnv[] = "/usr/bin/env";
// 20 s: a machine that is busy starts an interpreter in one.
constexpr absl::Duration kAnswerTimeMax = absl::Seconds(20);
constexpr char kCheck[] = "runtime";

std::string TextOf(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_string() ? found->get<std::string>() : "";
}

// A line of the answer says what there is or what is missing; the first says who answers.
void AddFinding(const Json& line, std::vector<Finding>& findings) {
  const std::string missing = TextOf(line, "missing");
  if (!missing.empty()) findings.push_back(MissingRuntimeFinding(TextOf(line, "name"), missing));
  const auto device = line.find("device");
  if (device == line.end() || !device->is_object()) return;
  findings.push_back({kCheck, FindingLevel::kOk, TextOf(*device, "name")});
}

}  // namespace

Finding MissingRuntimeFinding(const std::string& name, const std::string& why) {
  return {kCheck, FindingLevel::kNote, absl::StrCat(name, " is missing: ", why),
          "install it there, or name a Python that has it in PLAIT_RUNTIMES_PYTHON, and jobs and "
          "gate can measure in it"};
}

std::vector<Finding> RuntimeFindings(const std::string& interpreter,
                                     const std::string& package_path) {
  constexpr char kAll[] = "onnxruntime, openvino";
  if (interpreter == "none") return {MissingRuntimeFinding(kAll, "no Python may be asked for it")};
  ProcessOptions options;
  options.program = kEnv;
  options.arguments = {"env",
                       absl::StrCat("PYTHONPATH=", package_path),
                       "PYTHONDONTWRITEBYTECODE=1",
                       interpreter,
                       "-m",
                       "plait_runtime_worker",
                       "--probe"};
  const absl::StatusOr<FinishedProgram> finished = RunProgram(std::move(options), kAnswerTimeMax);
  std::vector<Finding> findings;
  if (finished.ok()) {
    for (const absl::string_view text : absl::StrSplit(finished->out, '\n')) {
      const Json line = Json::parse(text, nullptr, /*allow_exceptions=*/false);
      if (line.is_object()) AddFinding(line, findings);
    }
  }
  if (!findings.empty()) return findings;
  const std::string why =
      finished.ok() ? LastLine(finished->err) : std::string(finished.status().message());
  return {MissingRuntimeFinding(
      kAll, absl::StrCat(interpreter, " cannot run their worker", why.empty() ? "" : ": ", why))};
}

}  // namespace plait
