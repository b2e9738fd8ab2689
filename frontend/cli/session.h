// From a graph to a program, with what the environment asks for on the way (TUFF_DUMP, TUFF_LOG).
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "backend/compile.h"
#include "frontend/session/arguments.h"
#include "frontend/session/measure.h"
#include "frontend/session/model.h"

namespace tuff::cli {

// Keys stay in the order in which they are set.
using Json = nlohmann::ordered_json;

// One object on stdout, indented; text that is not UTF-8 is replaced.
void print_json(const Json& json);

// Names of the stops of the walk, in order, each once: import, the passes, lower,
// glsl, plan.
std::vector<std::string> stop_names();

// compile() with TUFF_DUMP's files and TUFF_LOG=compile's times.
Result<std::shared_ptr<const Program>> compile_graph(const Graph& graph, const Caps& caps,
                                                     const std::set<std::string>& disabled,
                                                     CompileReport* report,
                                                     Timeline* timeline = nullptr);

// The words of this process's command line, for results that say how to repeat them.
std::vector<std::string> command_words();

// Says on stderr which arguments have seeded values, if any.
void report_seeded(const ArgumentValues& arguments);

}  // namespace tuff::cli
