// tuff completion, tuff manual: the command's own description as completions for shells and as a
// manual page.
#include <fmt/format.h>

#include <cstdio>

#include "frontend/cli/command.h"
#include "frontend/cli/terminal.h"
#include "frontend/session/environment.h"

namespace tuff::cli {

namespace {

std::vector<const CLI::App*> commands_of(const CLI::App& app) {
  std::vector<const CLI::App*> commands;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) commands.push_back(command);
  return commands;
}

std::vector<const CLI::Option*> named_options(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : command.get_options())
    if (!option->get_lnames().empty() && !option->get_group().empty()) options.push_back(option);
  return options;
}

bool takes_value(const CLI::Option& option) { return option.get_items_expected_max() > 0; }

// All words that may follow `command`, with spaces between.
std::string words_after(const CLI::App& command) {
  std::string words;
  for (const CLI::App* inner : commands_of(command)) words += inner->get_name() + " ";
  for (const CLI::Option* option : named_options(command))
    words += "--" + option->get_lnames()[0] + " ";
  return words;
}

std::string bash(const CLI::App& app) {
  std::string cases;
  for (const CLI::App* command : commands_of(app))
    cases += fmt::format("    {}) words='{}' ;;\n", command->get_name(), words_after(*command));
  return fmt::format(R"(# Completion of tuff for bash: written by `tuff completion bash`.
_tuff() {{
  local current=${{COMP_WORDS[COMP_CWORD]}} words='{}'
  [ "$COMP_CWORD" -gt 1 ] && case ${{COMP_WORDS[1]}} in
{}    *) words='' ;;
  esac
  # shellcheck disable=SC2207
  COMPREPLY=($(compgen -W "$words" -- "$current"))
}}
complete -o default -F _tuff tuff
)",
                     words_after(app), cases);
}

// In single quotes of a shell.
std::string quoted(const std::string& text) {
  std::string out = "'";
  for (char c : text)
    if (c == '\'')
      out += "'\\''";
    else
      out += c;
  return out + "'";
}

std::string fish(const CLI::App& app) {
  std::string text = "# Completion of tuff for fish: written by `tuff completion fish`.\n";
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format("complete -c tuff -n __fish_use_subcommand -a {} -d {}\n",
                        command->get_name(), quoted(command->get_description()));
    for (const CLI::App* inner : commands_of(*command))
      text += fmt::format("complete -c tuff -n '__fish_seen_subcommand_from {}' -a {} -d {}\n",
                          command->get_name(), inner->get_name(), quoted(inner->get_description()));
    for (const CLI::Option* option : named_options(*command))
      text += fmt::format("complete -c tuff -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n",
                          command->get_name(), option->get_lnames()[0],
                          takes_value(*option) ? " -r" : "", quoted(option->get_description()));
  }
  return text;
}

// As zsh's _arguments wants a description: without what it reads as its own.
std::string zsh_description(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '[' || c == ']' || c == ':' || c == '\\') out += '\\';
    out += c;
  }
  return out;
}

std::string zsh(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : commands_of(app)) {
    commands += fmt::format("    {}\n", quoted(command->get_name() + ":" +
                                               zsh_description(command->get_description())));
    cases += fmt::format("    {}) _arguments", command->get_name());
    for (const CLI::Option* option : named_options(*command))
      cases += " \\\n      " + quoted(fmt::format("--{}[{}]{}", option->get_lnames()[0],
                                                  zsh_description(option->get_description()),
                                                  takes_value(*option) ? ":value:_files" : ""));
    cases += " \\\n      '*:file:_files' ;;\n";
  }
  return fmt::format(R"(#compdef tuff
# Completion of tuff for zsh: written by `tuff completion zsh`.
_tuff() {{
  local -a commands=(
{}  )
  if (( CURRENT == 2 )); then _describe command commands; return; fi
  local command=$words[2]
  shift words
  (( CURRENT-- ))
  case $command in
{}  esac
}}
_tuff "$@"
)",
                     commands, cases);
}

// Text in a manual page: what roff reads as its own is escaped.
std::string roff(const std::string& text) {
  std::string out;
  for (char c : text) {
    if (c == '\\') out += '\\';
    if (c == '-') out += '\\';
    if ((c == '.' || c == '\'') && (out.empty() || out.back() == '\n')) out += "\\&";
    out += c;
  }
  return out;
}

// "MODEL", "WORKLOAD...": what a command takes without a name.
std::vector<const CLI::Option*> positionals(const CLI::App& command) {
  std::vector<const CLI::Option*> options;
  for (const CLI::Option* option : command.get_options())
    if (option->get_positional() && !option->get_group().empty()) options.push_back(option);
  return options;
}

std::string manual_of_options(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : positionals(command))
    text += fmt::format(".TP\n.I {}\n{}\n", roff(option->get_name(true)),
                        roff(option->get_description()));
  for (const CLI::Option* option : named_options(command)) {
    std::string value = takes_value(*option) ? " " + option->get_type_name() : "";
    std::string letter = option->get_snames().empty() ? "" : "-" + option->get_snames()[0] + ", ";
    text += fmt::format(".TP\n.B {}{}\n{}\n", roff(letter + "--" + option->get_lnames()[0]),
                        roff(value), roff(option->get_description()));
  }
  return text;
}

std::string manual(const CLI::App& app) {
  std::string text = fmt::format(
      ".TH TUFF 1 \"\" \"tuff {}\" \"User Commands\"\n.SH NAME\ntuff \\- {}\n.SH SYNOPSIS\n.B "
      "tuff\n.I COMMAND\n[options]\n.SH COMMANDS\n",
      TUFF_VERSION, roff(app.get_description()));
  for (const CLI::App* command : commands_of(app)) {
    text += fmt::format(".SS {}\n{}.\n", roff("tuff " + command->get_name()),
                        roff(command->get_description()));
    for (const CLI::App* inner : commands_of(*command))
      text += fmt::format(".TP\n.B {}\n{}\n{}", roff(inner->get_name()),
                          roff(inner->get_description()), manual_of_options(*inner));
    text += manual_of_options(*command);
  }
  text += ".SH ENVIRONMENT\n";
  for (const EnvironmentVariable& variable : environment_variables())
    if (variable.doc) text += fmt::format(".TP\n.B {}\n{}\n", variable.name, roff(variable.doc));
  return text + ".SH EXIT STATUS\n" + roff(exit_codes_text()) + "\n";
}

constexpr std::pair<const char*, std::string (*)(const CLI::App&)> kShells[] = {
    {"bash", bash}, {"zsh", zsh}, {"fish", fish}};

}  // namespace

void add_completion(CLI::App& app, Action& chosen) {
  auto shell = std::make_shared<std::string>();
  CLI::App* command =
      app.add_subcommand("completion", "Print the completion of this command for a shell");
  command->add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command->callback([shell, &app, &chosen] {
    chosen = [shell, &app]() -> Status {
      for (const auto& [name, print] : kShells)
        if (*shell == name) std::fputs(print(app).c_str(), stdout);
      return {};
    };
  });
  CLI::App* page = app.add_subcommand("manual", "Print the manual page of this command (roff)");
  page->callback([&app, &chosen] {
    chosen = [&app]() -> Status {
      std::fputs(manual(app).c_str(), stdout);
      return {};
    };
  });
}

}  // namespace tuff::cli
