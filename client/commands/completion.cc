#include "client/completion.h"

#include "absl/strings/str_cat.h"
#include "base/suggest.h"
#include "client/json.h"

// For scripts: 0, and the script on stdout, the same on every machine. With --json it is a field.

namespace plait {
namespace {

std::vector<OptionSpec> OptionsOfCompletion() { return {}; }

absl::StatusOr<ExitCode> RunCompletion(const CommandContext& context) {
  const std::string& wanted = context.arguments.positionals()[0];
  std::vector<absl::string_view> names;
  for (const CompletionShell& shell : CompletionShells()) {
    names.push_back(shell.name);
    if (shell.name != wanted) continue;
    const std::string script = shell.script(AllCommands());
    if (context.console.json) {
      context.console.out << JsonText({{"shell", wanted}, {"script", script}});
    } else {
      context.console.out << script;
    }
    return ExitCode::kOk;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("unknown shell ", wanted, " (", Suggestion(wanted, names), ")"));
}

}  // namespace

const Command kCompletionCommand = {
    .name = "completion",
    .positionals = "SHELL",
    .summary = "print a script that completes plait's words: bash, zsh or fish",
    .examples =
        "  plait completion bash > ~/.local/share/bash-completion/completions/plait\n"
        "  plait completion zsh > \"${fpath[1]}/_plait\"\n"
        "  plait completion fish > ~/.config/fish/completions/plait.fish\n",
    .options = OptionsOfCompletion,
    .run = RunCompletion,
};

}  // namespace plait
