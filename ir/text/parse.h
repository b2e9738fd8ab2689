// Reads the text form of a Graph (ir/text/print.h). "//" starts a comment; value
// names are free ("%mean" as well as "%7"); numbering follows from the order.
// Any input gives a graph or an error with file:line:column and a caret, never
// a crash. The types are taken as written: run verify (ir/verify.h) on what
// comes from outside.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "ir/graph.h"

namespace tuff {

// `apart`: literals that the text has by their place in it.
Result<Graph> parse_graph(std::string_view text, const std::string& file = "<text>",
                          std::span<const Literal> apart = {});

}  // namespace tuff
