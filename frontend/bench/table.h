// Results as tables, for a terminal and as Markdown.
#pragma once

#include <string>

#include "frontend/bench/worker.h"

namespace tuff::bench {

enum class TableStyle { kText, kMarkdown };

// Of a tuff-bench-1 object: machine, a table a workload, phases, notes and warnings.
std::string results_table(const Json& results, TableStyle style);

// "84.3 ms", "1.43 s": three digits; the same unit rule in all tables.
std::string short_ms(double ms);

}  // namespace tuff::bench
