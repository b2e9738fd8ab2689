// What subcommands share: results as JSON, and how sessions talk on stderr.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "frontend/session/arguments.h"
#include "frontend/session/model.h"
#include "frontend/session/session.h"

namespace tuff::cli {

// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

// One object on stdout, indented; text that is not UTF-8 is replaced.
void print_json(const Json& json);

// The words of this process's command line, for results that say how to repeat them.
std::vector<std::string> command_words();

// import_model, and what is being done, unless quiet.
Result<Model> import_shown(const std::string& path, const ShapeSources& given, bool quiet = false);

// Says on stderr which arguments have seeded values, if any.
void report_seeded(const ArgumentValues& arguments);

// A session that warns on stderr, ends on Ctrl-C, shows its progress unless quiet, and does what
// the environment asks for (TUFF_DUMP, TUFF_LOG).
SessionOptions session_options(const std::vector<std::string>& disabled, bool quiet = false);

}  // namespace tuff::cli
