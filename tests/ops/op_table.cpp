#include "tests/ops/op_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "ir/infer/infer.h"
#include "ir/text/parse.h"
#include "ir/text/print.h"
#include "ir/verify.h"

namespace tuff {

namespace {

struct Loop {
  std::string name;
  std::vector<std::string> values;
};

struct Template {
  std::string text;
  int line = 0;
  std::string known_device, known_reason;
};

std::string trimmed(const std::string& text) {
  size_t begin = text.find_first_not_of(" \t\n"), end = text.find_last_not_of(" \t\n");
  return begin == std::string::npos ? "" : text.substr(begin, end - begin + 1);
}

bool starts_with(const std::string& text, const char* prefix) { return text.rfind(prefix, 0) == 0; }

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  for (size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

// Splits at commas outside brackets.
std::vector<std::string> split_operands(const std::string& text) {
  std::vector<std::string> parts;
  std::string part;
  int depth = 0;
  for (char c : text) {
    depth += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    if (c == ',' && depth == 0) {
      parts.push_back(trimmed(part));
      part.clear();
    } else {
      part += c;
    }
  }
  if (!trimmed(part).empty()) parts.push_back(trimmed(part));
  return parts;
}

// The pieces of a case line, from which graph text is written.
struct CaseLine {
  std::string op, parameters, constants, operands, attributes, types, region;
  std::string first_type;
  size_t num_operands = 0;

  std::string graph_text(const std::string& result_types, size_t results) const {
    std::string outputs;
    for (size_t i = 0; i < results; ++i) outputs += fmt::format("{}%r#{}", i ? ", " : "", i);
    return fmt::format("graph main({}) {{\n{}  %r:{} = {}({}) {} : {} {}\n  return {}\n}}",
                       parameters, constants, results, op, operands, attributes, result_types,
                       region, outputs);
  }
};

Result<CaseLine> split_case(const std::string& text) {
  CaseLine line;
  size_t open = text.find('('), close = text.find(')');
  if (open == std::string::npos || close == std::string::npos)
    return Error{ErrorCode::kBadInput, "A case is op(operands).", ""};
  line.op = trimmed(text.substr(0, open));
  for (const std::string& operand : split_operands(text.substr(open + 1, close - open - 1))) {
    size_t type_end = operand.find(']') + 1;
    std::string type = operand.substr(0, type_end), rest = trimmed(operand.substr(type_end));
    if (line.num_operands == 0) line.first_type = type;
    if (rest.empty() || starts_with(rest, "in "))
      line.parameters += fmt::format("{}%o{}: {} \"{}\"", line.parameters.empty() ? "" : ", ",
                                     line.num_operands, type, rest);
    else
      line.constants += fmt::format("  %o{} = constant {} {}\n", line.num_operands, type, rest);
    line.operands += fmt::format("{}%o{}", line.num_operands ? ", " : "", line.num_operands);
    ++line.num_operands;
  }
  std::string tail = trimmed(text.substr(close + 1));
  if (starts_with(tail, "{")) {
    size_t end = tail.find('}');
    line.attributes = tail.substr(0, end + 1);
    tail = trimmed(tail.substr(end + 1));
  }
  size_t region = std::min(tail.find("applies "), tail.find("graph "));
  if (region != std::string::npos) {
    line.region = tail.substr(region);
    tail = trimmed(tail.substr(0, region));
  }
  if (starts_with(tail, ":")) line.types = trimmed(tail.substr(1));
  return line;
}

// The graph of "op(operands) ...": parsed with a guess of the result types, which
// are then inferred, and parsed again.
Result<Graph> case_graph(const std::string& text, const std::string& where) {
  TUFF_ASSIGN(CaseLine line, split_case(text));
  size_t results = line.op == "reduce" ? line.num_operands / 2 : 1;
  if (!line.types.empty()) results = split_operands(line.types).size();
  std::string types = line.types;
  if (types.empty())
    for (size_t i = 0; i < results; ++i) types += (i ? ", " : "") + line.first_type;
  TUFF_ASSIGN(Graph graph, parse_graph(line.graph_text(types, results), where));
  if (!line.types.empty()) return graph;
  TUFF_ASSIGN(Types inferred, infer_types(graph, graph.node(graph.outputs()[0])));
  types.clear();
  for (const TensorType& type : inferred) types += (types.empty() ? "" : ", ") + print_type(type);
  return parse_graph(line.graph_text(types, inferred.size()), where);
}

class TableReader {
 public:
  explicit TableReader(const std::string& path)
      : path_(path), stem_(std::filesystem::path(path).stem()) {}

  Result<std::vector<OpBlock>> read() {
    std::ifstream in(path_);
    if (!in) return Error{ErrorCode::kBadInput, "The table cannot be read.", path_};
    std::string line;
    while (std::getline(in, line)) {
      ++line_;
      TUFF_RETURN_IF_ERROR(take(line));
    }
    TUFF_RETURN_IF_ERROR(end_block());
    return std::move(blocks_);
  }

 private:
  Error error(const std::string& message) const {
    return {ErrorCode::kBadInput, message, fmt::format("{}:{}", path_, line_)};
  }

  Status take(const std::string& raw) {
    if (in_graph_) {
      templates_.back().text += raw + "\n";
      in_graph_ = raw != "}";
      return {};
    }
    std::string line = trimmed(raw);
    if (line.empty()) return {};
    if (starts_with(line, "// known ")) {
      size_t colon = line.find(':');
      if (colon == std::string::npos) return error("'// known DEVICE: why' lacks its reason.");
      known_device_ = line.substr(9, colon - 9);
      known_reason_ = trimmed(line.substr(colon + 1));
      return {};
    }
    if (starts_with(line, "//")) return {};
    if (starts_with(line, "[")) {
      TUFF_RETURN_IF_ERROR(end_block());
      name_ = replaced(line.substr(1, line.size() - 2), " ", "_");
      return {};
    }
    if (starts_with(line, "for ")) return take_loop(line);
    std::istringstream words(line);
    std::string word;
    double number = 0;
    words >> word;
    if (word == "quick" && words >> number)
      return options_.quick = static_cast<int>(number), Status();
    if (word == "moderate") return options_.moderate = true, Status();
    templates_.push_back({line + "\n", line_, known_device_, known_reason_});
    known_device_ = known_reason_ = "";
    in_graph_ = word == "graph";
    return {};
  }

  Status take_loop(const std::string& line) {
    std::istringstream words(line);
    std::string word, value;
    Loop loop;
    words >> word >> loop.name >> word;
    if (word != "in") return error("A loop is 'for NAME in VALUES'.");
    while (words >> value) loop.values.push_back(value);
    loops_.push_back(std::move(loop));
    return {};
  }

  Status add_cases(size_t depth, const Template& form, const std::string& text) {
    if (depth < loops_.size()) {
      const Loop& loop = loops_[depth];
      if (text.find("$" + loop.name) == std::string::npos) return add_cases(depth + 1, form, text);
      for (const std::string& value : loop.values)
        TUFF_RETURN_IF_ERROR(add_cases(depth + 1, form, replaced(text, "$" + loop.name, value)));
      return {};
    }
    OpCase made{trimmed(text), fmt::format("{}.table:{}", stem_, form.line), {}, options_};
    made.options.known_device = form.known_device;
    made.options.known_reason = form.known_reason;
    bool whole = starts_with(text, "graph");
    auto graph = whole ? parse_graph(text, made.where) : case_graph(made.text, made.where);
    if (!graph.ok())
      return Error{graph.error().code, graph.error().message + " In: " + made.text, made.where};
    made.graph = std::move(*graph);
    if (Status valid = verify(made.graph); !valid.ok())
      return Error{valid.error().code, valid.error().message + " In: " + made.text, made.where};
    blocks_.back().cases.push_back(std::move(made));
    return {};
  }

  Status end_block() {
    if (!templates_.empty()) {
      blocks_.push_back({stem_ + "." + name_, {}});
      for (const Template& form : templates_) TUFF_RETURN_IF_ERROR(add_cases(0, form, form.text));
    }
    loops_.clear();
    templates_.clear();
    options_ = {};
    return {};
  }

  std::string path_, stem_, name_;
  int line_ = 0;
  bool in_graph_ = false;
  std::string known_device_, known_reason_;
  std::vector<Loop> loops_;
  std::vector<Template> templates_;
  CaseOptions options_;
  std::vector<OpBlock> blocks_;
};

}  // namespace

Result<std::vector<OpBlock>> read_op_table(const std::string& path) {
  return TableReader(path).read();
}

}  // namespace tuff
