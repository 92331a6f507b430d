#include "client/command.h"
#include "client/json.h"

// For scripts: 0, and one line on stdout, "plait" and the version; with --json only the version as
// a field. Asks no server: it is this program's version.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfVersion() { return {}; }

absl::StatusOr<ExitCode> RunVersion(const CommandContext& context) {
  if (context.console.json) {
    Json json;
    json["version"] = PLAIT_VERSION;
    context.console.out << JsonText(json);
  } else {
    context.console.out << "plait " PLAIT_VERSION "\n";
  }
  return ExitCode::kOk;
}

}  // namespace

const Command kVersionCommand = {
    .name = "version",
    .positionals = "",
    .summary = "print the version",
    .examples = "  plait version --json\n",
    .options = OptionsOfVersion,
    .run = RunVersion,
};

}  // namespace plait
