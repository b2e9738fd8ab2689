// The text form of graphs: what parses and verifies is also printed and read back
// as the same graph.
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "tests/fuzz/readers/target.h"

int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace tuff;
  Result<Graph> graph = parse_graph(fuzz::as_text(data, size));
  if (!graph.ok() || !verify(*graph).ok()) return 0;
  std::string text = print(*graph);
  Result<Graph> again = parse_graph(text);
  if (!again.ok()) fuzz::found("Printed text does not parse: " + again.error().to_string());
  if (!(*again == *graph)) fuzz::found("Printed text reads back as another graph:\n" + text);
  return 0;
}
