#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "client/command.h"
#include "client/json.h"
#include "client/server_session.h"

// For scripts: 0 also when the list is empty. Without a named server the list is that of this
// machine's embedded one, which has a worker for "cpu". A runtime is measured in and is no device
// of a job; its worker starts when it is needed. "predicted" marks a described device, whose
// times are computed and never measured.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfDevices() {
  std::vector<OptionSpec> options;
  AddServerOptions(&options);
  AddEmbeddedOptions(&options);
  return options;
}

absl::StatusOr<ExitCode> RunDevices(const CommandContext& context) {
  // "cpu" is what the embedded server gets a worker for: it needs one to have a device at all.
  PLAIT_ASSIGN_OR_RETURN(const ServerSession session, ConnectOrEmbed(context, "cpu", 0));
  PLAIT_ASSIGN_OR_RETURN(const v1::ListDevicesResponse response, session.client->ListDevices());
  Json json;
  json["devices"] = Json::array();
  std::string table =
      absl::StrFormat("%-12s %-40s %5s %-14s %7s\n", "ID", "NAME", "CORES", "ISA", "WORKERS");
  for (const v1::AvailableDevice& available : response.devices()) {
    const v1::Device& device = available.device();
    json["devices"].push_back(DeviceJson(available));
    table += absl::StrFormat("%-12s %-40s %5d %-14s %7d%s\n", device.id(), device.name(),
                             device.cores(), device.instruction_set(), available.workers(),
                             device.predicted()                  ? "  predicted"
                             : !device.runtime_version().empty() ? "  runtime"
                                                                 : "");
  }
  json["missing_runtimes"] = Json::array();
  for (const v1::MissingRuntime& missing : response.missing_runtimes()) {
    json["missing_runtimes"].push_back({{"name", missing.name()}, {"reason", missing.reason()}});
    table += absl::StrFormat("%-12s is missing: %s\n", missing.name(), missing.reason());
  }
  context.console.out << (context.console.json ? JsonText(json) : table);
  return ExitCode::kOk;
}

}  // namespace

const Command kDevicesCommand = {
    .name = "devices",
    .positionals = "",
    .summary = "list the devices that jobs can name, and the runtimes",
    .examples =
        "  plait devices\n"
        "  plait devices --server plait.example.com:7400 --json\n",
    .options = OptionsOfDevices,
    .run = RunDevices,
};

}  // namespace plait
