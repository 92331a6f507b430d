#include "client/completion.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"

namespace plait {
namespace {

// Words that stand for files, in the positionals of a verb and as values of options.
constexpr absl::string_view kFileWords[] = {"MODEL", "MODEL2", "BASE", "NEW", "FILE", "DIR"};

bool IsFileWord(absl::string_view word) {
  return std::find(std::begin(kFileWords), std::end(kFileWords), word) != std::end(kFileWords);
}

bool TakesFiles(const Command& command) {
  const std::vector<absl::string_view> words =
      absl::StrSplit(command.positionals, absl::ByAnyChar(" []|"), absl::SkipEmpty());
  return std::any_of(words.begin(), words.end(), IsFileWord);
}

bool TakesValue(const OptionSpec& option) { return option.kind != OptionKind::kSwitch; }

// What a positional may be, where that is a list: of the verb that prints these scripts.
std::string PositionalsOf(const Command& command) {
  if (command.positionals != "SHELL") return "";
  std::string names;
  for (const CompletionShell& shell : CompletionShells()) absl::StrAppend(&names, shell.name, " ");
  return names;
}

std::string OneLine(absl::string_view text) { return absl::StrReplaceAll(text, {{"\n", " "}}); }

// Between single quotes, for shells of Bourne's kind.
std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"'", "'\\''"}}), "'");
}

// The words of a verb's options, and those of them behind which a file, or something else, stands.
std::string BashCase(const Command& command) {
  std::string words;
  std::string before_files;
  std::string before_values;
  for (const OptionSpec& option : OptionsOf(command)) {
    for (const absl::string_view name : {option.name, option.short_name}) {
      if (name.empty()) continue;
      absl::StrAppend(&words, name, " ");
      if (!TakesValue(option)) continue;
      absl::StrAppend(IsFileWord(option.value) ? &before_files : &before_values, name, " ");
    }
  }
  return absl::StrCat("    ", command.name, ")\n      options=", Quoted(words),
                      "\n      before_files=", Quoted(before_files),
                      "\n      before_values=", Quoted(before_values),
                      "\n      positionals=", Quoted(PositionalsOf(command)),
                      "\n      takes_files=", TakesFiles(command) ? "1" : "", " ;;\n");
}

std::string BashScript(absl::Span<const Command* const> commands) {
  std::string verbs;
  std::string cases;
  for (const Command* command : commands) {
    absl::StrAppend(&verbs, command->name, " ");
    absl::StrAppend(&cases, BashCase(*command));
  }
  return absl::StrCat(R"(# bash completion of plait; source it, or save it as plait in
# ~/.local/share/bash-completion/completions
_plait() {
  local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}
  local options= before_files= before_values= positionals= takes_files=
  COMPREPLY=()
  if (( COMP_CWORD == 1 )); then
    COMPREPLY=( $(compgen -W )",
                      Quoted(verbs), R"( -- "$word") )
    return
  fi
  case ${COMP_WORDS[1]} in
)",
                      cases, R"(    *) return ;;
  esac
  case " $before_values " in *" $before "*) return ;; esac
  case " $before_files " in
    *" $before "*) takes_files=1 options= positionals= ;;
  esac
  if [[ $word == -* && -n $options ]]; then
    COMPREPLY=( $(compgen -W "$options --help" -- "$word") )
  elif [[ -n $positionals ]]; then
    COMPREPLY=( $(compgen -W "$positionals" -- "$word") )
  elif [[ -n $takes_files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  fi
}
complete -F _plait plait
)");
}

// A specification of _arguments: brackets and colons have a meaning there.
std::string ZshOption(const OptionSpec& option) {
  const std::string help =
      absl::StrReplaceAll(OneLine(option.help), {{"[", "\\["}, {"]", "\\]"}, {":", "\\:"}});
  std::string value;
  if (TakesValue(option)) {
    value = absl::StrCat(":", absl::StrReplaceAll(option.value, {{":", "\\:"}}), ":",
                         IsFileWord(option.value) ? "_files" : " ");
  }
  std::string specifications;
  for (const absl::string_view name : {option.name, option.short_name}) {
    if (name.empty()) continue;
    absl::StrAppend(&specifications, " \\\n        ",
                    Quoted(absl::StrCat("*", name, "[", help, "]", value)));
  }
  return specifications;
}

std::string ZshScript(absl::Span<const Command* const> commands) {
  std::string verbs;
  std::string cases;
  for (const Command* command : commands) {
    const std::string summary = absl::StrReplaceAll(command->summary, {{":", "\\:"}});
    absl::StrAppend(&verbs, "    ", Quoted(absl::StrCat(command->name, ":", summary)), "\n");
    absl::StrAppend(&cases, "    ", command->name, ")\n      _arguments -S");
    for (const OptionSpec& option : OptionsOf(*command)) absl::StrAppend(&cases, ZshOption(option));
    absl::StrAppend(&cases, " \\\n        '--help[print help]'");
    const std::string positionals = PositionalsOf(*command);
    if (TakesFiles(*command)) absl::StrAppend(&cases, " \\\n        '*:file:_files'");
    if (!positionals.empty()) {
      absl::StrAppend(&cases, " \\\n        ", Quoted(absl::StrCat("1:shell:(", positionals, ")")));
    }
    absl::StrAppend(&cases, " ;;\n");
  }
  return absl::StrCat(R"(#compdef plait
# zsh completion of plait; save it as _plait in a folder of $fpath, or source it
_plait() {
  local -a verbs
  verbs=(
)",
                      verbs, R"(  )
  if (( CURRENT == 2 )); then
    _describe verb verbs
    return
  fi
  shift words
  (( CURRENT-- ))
  case $words[1] in
)",
                      cases, R"(  esac
}
if [[ $funcstack[1] == _plait ]]; then _plait "$@"; else compdef _plait plait; fi
)");
}

std::string FishQuoted(absl::string_view text) {
  return absl::StrCat("'", absl::StrReplaceAll(text, {{"\\", "\\\\"}, {"'", "\\'"}}), "'");
}

std::string FishScript(absl::Span<const Command* const> commands) {
  std::string script =
      "# fish completion of plait; save it as plait.fish in ~/.config/fish/completions\n"
      "complete -c plait -f\n";
  for (const Command* command : commands) {
    absl::StrAppend(&script, "complete -c plait -n __fish_use_subcommand -a ", command->name,
                    " -d ", FishQuoted(command->summary), "\n");
    const std::string begin =
        absl::StrCat("complete -c plait -n '__fish_seen_subcommand_from ", command->name, "'");
    const std::string positionals = PositionalsOf(*command);
    if (TakesFiles(*command)) absl::StrAppend(&script, begin, " -F\n");
    if (!positionals.empty()) {
      absl::StrAppend(&script, begin, " -a ", FishQuoted(positionals), "\n");
    }
    for (const OptionSpec& option : OptionsOf(*command)) {
      absl::StrAppend(&script, begin, " -l ", option.name.substr(2));
      if (!option.short_name.empty()) absl::StrAppend(&script, " -s ", option.short_name.substr(1));
      if (TakesValue(option)) absl::StrAppend(&script, IsFileWord(option.value) ? " -rF" : " -x");
      absl::StrAppend(&script, " -d ", FishQuoted(OneLine(option.help)), "\n");
    }
  }
  return script;
}

constexpr CompletionShell kShells[] = {
    {"bash", BashScript}, {"zsh", ZshScript}, {"fish", FishScript}};

}  // namespace

absl::Span<const CompletionShell> CompletionShells() { return kShells; }

}  // namespace plait
