// frontend/onnx/OPERATORS.md is what the table of operators says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "frontend/onnx/build/call.h"

namespace tuff::onnx::test {
namespace {

std::string operators_page() {
  std::map<std::string, std::vector<const OpRow*>> domains;
  for (const OpTable& table : op_tables())
    for (const OpRow& row : table.rows) domains[table.domain].push_back(&row);
  std::string text =
      "# ONNX operators\n\nWhat the table of operators says (`tests/unit/onnx/table_test.cpp` "
      "writes this page). An "
      "operator is\nsupported in all opsets that have it, up to opset 28; what its note leaves out "
      "is refused by name.\n";
  for (auto& [domain, rows] : domains) {
    std::sort(rows.begin(), rows.end(),
              [](const OpRow* a, const OpRow* b) { return std::string(a->name) < b->name; });
    auto supported =
        std::count_if(rows.begin(), rows.end(), [](const OpRow* r) { return r->function; });
    text += "\n## " + (domain.empty() ? std::string("ai.onnx") : domain) + ": " +
            std::to_string(supported) + " of " + std::to_string(rows.size()) + "\n\n";
    text += "| operator | supported | note |\n|---|---|---|\n";
    for (const OpRow* row : rows)
      text += std::string("| ") + row->name + " | " + (row->function ? "yes" : "no") + " | " +
              row->limits + " |\n";
  }
  return text;
}

TEST(OnnxTable, ThePageIsTheTable) {
  std::string path = std::string(TUFF_TEST_DATA) + "/../frontend/onnx/OPERATORS.md";
  if (std::getenv("TUFF_REWRITE_GOLDENS")) std::ofstream(path) << operators_page();
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  EXPECT_EQ(text.str(), operators_page()) << "TUFF_REWRITE_GOLDENS=1 writes it anew.";
}

TEST(OnnxTable, EveryRowIsFoundByItsName) {
  for (const OpTable& table : op_tables())
    for (const OpRow& row : table.rows)
      EXPECT_EQ(find_op_row(table.domain, row.name), &row) << row.name;
}

}  // namespace
}  // namespace tuff::onnx::test
