#include "client/command.h"
#include "client/json.h"

namespace plait {
namespace {

std::vector<OptionSpec> Options() { return {}; }

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
    .options = Options,
    .run = RunVersion,
};

}  // namespace plait
