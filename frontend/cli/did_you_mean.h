// What a mistyped word was meant to be.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

namespace tuff::cli {

// The candidate that is at most a third of the word's letters away from it, by letters left out,
// put in, changed or swapped with their neighbour; empty: none is.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

// A sentence for each word of the command line that the parser does not know but that resembles
// a command or an option of the command at hand; empty: none does.
std::string suggestions(const CLI::App& app, int argc, char** argv);

}  // namespace tuff::cli
