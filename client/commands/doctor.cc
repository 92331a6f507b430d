#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/machine_memory.h"
#include "base/program_folder.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/doctor/machine.h"
#include "client/doctor/programs.h"
#include "client/doctor/runtimes.h"
#include "client/json.h"
#include "client/loaded_model.h"
#include "client/server_session.h"

// For scripts: 0 unless there is an error; then 1, and the checks are on stdout all the same.
// Notes and warnings change nothing. Nothing is written anywhere, and no server is started.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfDoctor() {
  std::vector<OptionSpec> options;
  AddServerOptions(&options);
  AddEmbeddedOptions(&options);
  return options;
}

Finding DeviceFinding(const Arguments& arguments) {
  const absl::StatusOr<std::unique_ptr<Executor>> executor = OpenDevice(arguments);
  if (executor.ok()) return ProcessorFinding((*executor)->device());
  return {"processor", FindingLevel::kError, std::string(executor.status().message()),
          "models cannot be run on this machine"};
}

// What the server says of itself; unreachable ones are asked for some seconds.
std::vector<Finding> ServerFindings(const CommandContext& context, const std::string& address) {
  const auto failed = [&](const absl::Status& status) {
    return std::vector<Finding>{{"server", FindingLevel::kError,
                                 absl::StrCat(address, ": ", std::string(status.message())),
                                 "is plaitd running, and may it be reached (--server, --tls-ca)?"}};
  };
  const absl::StatusOr<ServerSession> session = ConnectToServer(context);
  if (!session.ok()) return failed(session.status());
  const absl::StatusOr<v1::GetCapabilitiesResponse> answer = session->client->GetCapabilities();
  if (!answer.ok()) return failed(answer.status());
  const absl::StatusOr<v1::ListDevicesResponse> devices = session->client->ListDevices();
  if (!devices.ok()) return failed(devices.status());
  int workers = 0;
  // Those of runtimes start when they are needed, and run no job's search.
  for (const v1::AvailableDevice& device : devices->devices()) {
    if (device.device().runtime_version().empty()) workers += device.workers();
  }
  Finding finding = {
      "server", FindingLevel::kOk,
      absl::StrFormat("%s: version %s, %d workers", address, answer->version(), workers)};
  if (workers == 0) {
    finding.level = FindingLevel::kWarning;
    finding.fix = "no job can run (start a plait-worker, or see the log of plaitd)";
  } else if (answer->version() != PLAIT_VERSION) {
    finding.level = FindingLevel::kWarning;
    finding.fix = absl::StrCat("this plait, which is ", PLAIT_VERSION,
                               ", may run its plans in other variants or not at all"
                               " (install one version)");
  }
  std::vector<Finding> findings = {finding};
  for (const v1::MissingRuntime& missing : devices->missing_runtimes()) {
    findings.push_back(MissingRuntimeFinding(missing.name(), missing.reason()));
  }
  for (const std::string& warning : answer->warnings()) {
    findings.push_back({"server", FindingLevel::kWarning, warning,
                        "see docs/security.md for what is not protected"});
  }
  return findings;
}

std::vector<Finding> FindAll(const CommandContext& context) {
  const Arguments& arguments = context.arguments;
  const int machine_cores = AllMachineCores();
  const std::string programs = absl::StrCat(context.environment.program_folder, "/");
  std::vector<Finding> findings = {
      {"plait", FindingLevel::kOk, absl::StrCat("version ", PLAIT_VERSION)},
      DeviceFinding(arguments),
      CoresFinding(MachineCoreLimits(), machine_cores),
      LoadFinding(LoadAverage(), machine_cores),
      MemoryFinding(MachineMemoryBytes()),
      CacheFinding(arguments.Text("--cache-dir", context.environment.cache_folder)),
      DaemonFinding(absl::StrCat(programs, "plaitd"), PLAIT_VERSION),
      WorkerFinding(absl::StrCat(programs, "plait-worker")),
  };
  const std::string server = arguments.Text("--server", context.environment.server);
  if (server.empty()) {
    for (Finding& finding : RuntimeFindings(context.environment.runtimes_python,
                                            PythonPackagesOf(context.environment.program_folder))) {
      findings.push_back(std::move(finding));
    }
    findings.push_back({"server", FindingLevel::kOk, "none is named: this machine does it all"});
    return findings;
  }
  for (Finding& finding : ServerFindings(context, server)) findings.push_back(std::move(finding));
  return findings;
}

std::string FindingsTable(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& finding : findings) {
    absl::StrAppendFormat(&text, "%-8s %-10s %s\n", FindingLevelName(finding.level), finding.check,
                          finding.text);
    if (!finding.fix.empty()) absl::StrAppendFormat(&text, "%-19s %s\n", "", finding.fix);
  }
  return text;
}

Json FindingsJson(const std::vector<Finding>& findings) {
  Json json;
  json["schema_version"] = 1;
  json["checks"] = Json::array();
  for (const Finding& finding : findings) {
    json["checks"].push_back({{"check", finding.check},
                              {"level", std::string(FindingLevelName(finding.level))},
                              {"text", finding.text},
                              {"fix", finding.fix}});
  }
  return json;
}

absl::StatusOr<ExitCode> RunDoctor(const CommandContext& context) {
  const std::vector<Finding> findings = FindAll(context);
  context.console.out << (context.console.json ? JsonText(FindingsJson(findings))
                                               : FindingsTable(findings));
  const bool has_error = std::any_of(findings.begin(), findings.end(), [](const Finding& finding) {
    return finding.level == FindingLevel::kError;
  });
  return has_error ? ExitCode::kInternal : ExitCode::kOk;
}

}  // namespace

const Command kDoctorCommand = {
    .name = "doctor",
    .positionals = "",
    .summary = "say what this machine offers, and what hinders",
    .examples =
        "  plait doctor\n"
        "  plait doctor --server plait.example.com:7400 --json\n",
    .options = OptionsOfDoctor,
    .run = RunDoctor,
};

}  // namespace plait
