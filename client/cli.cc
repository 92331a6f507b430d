#include "client/cli.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/suggest.h"

namespace plait {
namespace {

// Leaves the help about 70 columns of a terminal.
constexpr int kOptionsWidth = 24;

constexpr OptionSpec kJsonOption = {"--json", OptionKind::kSwitch, "",
                                    "print the result as JSON on standard output"};

const Command* FindCommand(absl::string_view name) {
  for (const Command* command : AllCommands()) {
    if (command->name == name) return command;
  }
  return nullptr;
}

absl::Status UnknownVerb(absl::string_view verb) {
  std::vector<absl::string_view> names;
  for (const Command* command : AllCommands()) names.push_back(command->name);
  return absl::InvalidArgumentError(
      absl::StrCat("unknown verb ", verb, " (", Suggestion(verb, names), ")"));
}

}  // namespace

absl::Span<const Command* const> AllCommands() {
  static const Command* const kCommands[] = {
#define PLAIT_COMMAND(name) &k##name##Command,
#include "client/commands.def"
#undef PLAIT_COMMAND
  };
  return kCommands;
}

std::vector<OptionSpec> OptionsOf(const Command& command) {
  std::vector<OptionSpec> options = command.options();
  options.push_back(kJsonOption);
  return options;
}

std::string HelpText() {
  std::string text =
      "plait makes ONNX models faster on a given device and proves that they compute the same.\n\n"
      "usage: plait VERB [arguments]\n\n";
  for (const Command* command : AllCommands()) {
    absl::StrAppendFormat(&text, "  %-10s %s\n", command->name, command->summary);
  }
  absl::StrAppend(&text,
                  "\nplait VERB --help tells more about a verb.\n\n"
                  "example:\n  plait optimize model.onnx -o faster.onnx\n");
  return text;
}

std::string HelpText(const Command& command) {
  std::string text =
      absl::StrCat("usage: plait ", command.name, command.positionals.empty() ? "" : " ",
                   command.positionals, " [options]\n\n", command.summary, "\n\noptions:\n");
  absl::StrAppend(&text, HelpTextOf(OptionsOf(command), kOptionsWidth), "\nexamples:\n",
                  command.examples);
  return text;
}

ExitCode RunCli(const std::vector<std::string>& words, Console& console, Interrupts& interrupts,
                const Environment& environment) {
  // Before parsing, so that a mistake on the line is told as JSON, too.
  console.json = std::find(words.begin(), words.end(), "--json") != words.end();
  if (words.empty()) {
    return ReportError(console, "usage",
                       absl::InvalidArgumentError("a verb is missing (see plait --help)"),
                       ExitCode::kUsage);
  }
  if (words[0] == "--help" || words[0] == "-h" || words[0] == "help") {
    console.out << HelpText();
    return ExitCode::kOk;
  }
  // What people type at a program that they do not know yet.
  const std::string verb = words[0] == "--version" ? "version" : words[0];
  const Command* const command = FindCommand(verb);
  if (command == nullptr) {
    return ReportError(console, "usage", UnknownVerb(verb), ExitCode::kUsage);
  }
  const absl::Span<const std::string> rest = absl::MakeConstSpan(words).subspan(1);
  if (AsksForHelp(rest)) {
    console.out << HelpText(*command);
    return ExitCode::kOk;
  }
  // Everything on the line is checked here, before a server is started or a file is read.
  const absl::StatusOr<Arguments> arguments =
      ParseArguments(rest, OptionsOf(*command), command->positionals);
  if (!arguments.ok()) {
    return ReportError(console, command->name, arguments.status(), ExitCode::kUsage);
  }
  const absl::StatusOr<ExitCode> code =
      command->run(CommandContext{*arguments, console, interrupts, environment});
  if (code.ok()) return *code;
  // The one place where the error of a verb becomes an exit code.
  return ReportError(console, command->name, code.status(), ExitCodeOf(code.status()));
}

}  // namespace plait
