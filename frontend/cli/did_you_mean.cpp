#include "frontend/cli/did_you_mean.h"

#include <fmt/format.h>

#include <algorithm>

namespace tuff::cli {

namespace {

// Optimal string alignment distance (Damerau and Levenshtein's, each pair swapped at most once).
size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  for (size_t j = 0; j <= b.size(); ++j) table[0][j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t changed = table[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, changed});
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
    }
  }
  return table[a.size()][b.size()];
}

std::vector<std::string> option_names(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; }))
    if (!command->get_group().empty()) names.push_back(command->get_name());
  return names;
}

}  // namespace

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  size_t least = word.size() / 3 + 1;
  for (const std::string& candidate : candidates) {
    size_t away = distance(word, candidate);
    if (away >= least) continue;
    least = away;
    best = candidate;
  }
  return best;
}

std::string suggestions(const CLI::App& app, int argc, char** argv) {
  if (argc < 2) return "";
  std::vector<std::string> commands = command_names(app);
  std::string first = argv[1], text;
  auto suggest = [&text](const std::string& word, const std::string& meant) {
    if (!meant.empty() && meant != word)
      text += fmt::format("Did you mean ({}) instead of ({})?\n", meant, word);
  };
  bool is_command = std::find(commands.begin(), commands.end(), first) != commands.end();
  if (!is_command) {
    suggest(first, nearest(first, first.starts_with("-") ? option_names(app) : commands));
    return text;
  }
  std::vector<std::string> options = option_names(*app.get_subcommand(first));
  for (int i = 2; i < argc; ++i) {
    std::string word = argv[i];
    if (!word.starts_with("--")) continue;
    word = word.substr(0, word.find('='));
    if (std::find(options.begin(), options.end(), word) == options.end())
      suggest(word, nearest(word, options));
  }
  return text;
}

}  // namespace tuff::cli
