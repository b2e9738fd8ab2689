#include "ir/text/parse.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "ir/text/attribute_text.h"
#include "ir/text/parse_element.h"
#include "ir/text/text_cursor.h"

namespace tuff {

namespace {

// Regions nest this deep at most: the parser recurses, and text is untrusted.
constexpr int kMaxDepth = 64;
// A short text may name a huge splat; no real constant is larger than this.
constexpr int64_t kMaxLiteralBytes = int64_t{1} << 30;

class Parser {
 public:
  Parser(std::string_view text, const std::string& file, std::span<const Literal> apart)
      : in_(text, file), apart_(apart) {}

  Result<Graph> top() {
    TUFF_ASSIGN(Graph g, graph(0));
    if (!in_.at_end()) return in_.unexpected("the end of the text");
    return g;
  }

 private:
  using Names = std::unordered_map<std::string, Value>;

  Result<Graph> graph(int depth) {
    if (depth > kMaxDepth)
      return in_.error(fmt::format("Regions nest deeper than ({}).", kMaxDepth));
    if (!in_.accept_word("graph")) return in_.unexpected("'graph'");
    Graph g;
    Names names;
    if (in_.peek() != '(') {
      TUFF_ASSIGN(g.name, name("a graph's name"));
    }
    TUFF_RETURN_IF_ERROR(parameters(g, names));
    TUFF_RETURN_IF_ERROR(in_.expect("{"));
    while (in_.peek() == '%') TUFF_RETURN_IF_ERROR(node(g, names, depth));
    if (in_.accept_word("donate")) TUFF_RETURN_IF_ERROR(donations(g, names));
    if (!in_.accept_word("return")) return in_.unexpected("an operation, 'donate' or 'return'");
    TUFF_RETURN_IF_ERROR(outputs(g, names));
    TUFF_RETURN_IF_ERROR(in_.expect("}"));
    return g;
  }

  Result<std::string> name(const char* what) {
    if (in_.peek() == '"') return in_.string(what);
    TUFF_ASSIGN(std::string_view word, in_.word(what));
    return std::string(word);
  }

  Result<std::string> optional_string() {
    if (in_.peek() != '"') return std::string();
    return in_.string("a name");
  }

  Result<std::string> location() {
    if (!in_.accept_word("loc")) return std::string();
    TUFF_RETURN_IF_ERROR(in_.expect("("));
    TUFF_ASSIGN(std::string loc, in_.string("a location"));
    TUFF_RETURN_IF_ERROR(in_.expect(")"));
    return loc;
  }

  // Takes "%name" and makes sure that it is new.
  Result<std::string> new_name(const Names& names) {
    size_t start = in_.position();
    TUFF_RETURN_IF_ERROR(in_.expect("%"));
    TUFF_ASSIGN(std::string_view word, in_.word("a value's name"));
    if (names.count(std::string(word)))
      return in_.error_at(start, fmt::format("%{} is defined already.", word));
    return std::string(word);
  }

  Status parameters(Graph& g, Names& names) {
    TUFF_RETURN_IF_ERROR(in_.expect("("));
    while (!in_.accept(")")) {
      if (g.num_parameters()) TUFF_RETURN_IF_ERROR(in_.expect(","));
      TUFF_ASSIGN(std::string value_name, new_name(names));
      TUFF_RETURN_IF_ERROR(in_.expect(":"));
      TUFF_ASSIGN(TensorType parameter_type, type());
      TUFF_ASSIGN(std::string parameter_name, optional_string());
      TUFF_ASSIGN(std::string loc, location());
      names[value_name] =
          g.add_parameter(std::move(parameter_type), std::move(parameter_name), loc);
    }
    return {};
  }

  Result<Value> value(const Graph& g, const Names& names) {
    size_t start = in_.position();
    TUFF_RETURN_IF_ERROR(in_.expect("%"));
    TUFF_ASSIGN(std::string_view word, in_.word("a value's name"));
    auto it = names.find(std::string(word));
    if (it == names.end())
      return in_.error_at(start, fmt::format("%{} is not defined before its use.", word));
    Value v = it->second;
    if (in_.accept("#")) {
      TUFF_ASSIGN(int64_t result, in_.integer("a result's number"));
      if (result < 0 || result > std::numeric_limits<uint32_t>::max())
        return in_.error_at(start, fmt::format("Result ({}) is out of range.", result));
      v.result = static_cast<uint32_t>(result);
    }
    size_t count = g.node(v).types.size();
    if (v.result >= count)
      return in_.error_at(
          start, fmt::format("%{} has ({}) results; ({}) is asked for.", word, count, v.result));
    return v;
  }

  Status donations(Graph& g, const Names& names) {
    do {
      size_t start = in_.position();
      TUFF_ASSIGN(Value parameter, value(g, names));
      if (parameter.node >= g.num_parameters())
        return in_.error_at(start, "Only a parameter can be donated.");
      TUFF_RETURN_IF_ERROR(in_.expect("->"));
      TUFF_ASSIGN(int64_t output, in_.integer("an output's number"));
      if (output < 0 || output > std::numeric_limits<uint32_t>::max())
        return in_.error_at(start, fmt::format("Output ({}) is out of range.", output));
      g.donations.emplace_back(parameter.node, static_cast<uint32_t>(output));
    } while (in_.accept(","));
    return {};
  }

  Status outputs(Graph& g, const Names& names) {
    std::vector<Value> values;
    std::vector<std::string> output_names;
    while (in_.peek() == '%') {
      TUFF_ASSIGN(Value v, value(g, names));
      TUFF_ASSIGN(std::string output_name, optional_string());
      output_names.push_back(output_name.empty() ? fmt::format("out{}", values.size())
                                                 : output_name);
      values.push_back(v);
      if (!in_.accept(",")) break;
    }
    g.set_outputs(std::move(values), std::move(output_names));
    return {};
  }

  Status node(Graph& g, Names& names, int depth) {
    TUFF_ASSIGN(std::string value_name, new_name(names));
    int64_t results = 1;
    size_t start = in_.position();
    if (in_.accept(":")) {
      TUFF_ASSIGN(results, in_.integer("the number of results"));
    }
    TUFF_RETURN_IF_ERROR(in_.expect("="));
    size_t op_start = in_.position();
    TUFF_ASSIGN(std::string_view op_word, in_.word("an operation"));
    std::optional<Op> op = find_op(op_word);
    if (!op || *op == Op::kParameter)
      return in_.error_at(op_start, fmt::format("'{}' is no operation of a graph.", op_word));
    Node n;
    n.op = *op;
    if (n.op == Op::kConstant && in_.peek() != '(') {
      TUFF_ASSIGN(Literal constant, literal());
      n.types = {constant.type()};
      n.attrs = ConstantAttrs{std::move(constant)};
    } else {
      TUFF_RETURN_IF_ERROR(node_body(g, names, n, depth));
    }
    if (static_cast<int64_t>(n.types.size()) != results)
      return in_.error_at(start, fmt::format("The name declares ({}) results, the types are ({}).",
                                             results, n.types.size()));
    TUFF_ASSIGN(n.loc, location());
    names[value_name] = g.add(std::move(n));
    return {};
  }

  Status node_body(const Graph& g, const Names& names, Node& n, int depth) {
    TUFF_RETURN_IF_ERROR(in_.expect("("));
    while (!in_.accept(")")) {
      if (!n.operands.empty()) TUFF_RETURN_IF_ERROR(in_.expect(","));
      TUFF_ASSIGN(Value operand, value(g, names));
      n.operands.push_back(operand);
    }
    TUFF_RETURN_IF_ERROR(attrs(n));
    TUFF_RETURN_IF_ERROR(in_.expect(":"));
    if (in_.accept("(")) {
      TUFF_RETURN_IF_ERROR(in_.expect(")"));
    } else {
      do {
        TUFF_ASSIGN(TensorType t, type());
        n.types.push_back(std::move(t));
      } while (in_.accept(","));
    }
    return regions(n, depth);
  }

  Status regions(Node& n, int depth) {
    for (;;) {
      if (in_.accept_word("applies")) {
        TUFF_ASSIGN(Graph body, simple_region(n));
        n.regions.push_back(std::make_shared<const Graph>(std::move(body)));
      } else if (in_.peek() == 'g') {
        TUFF_ASSIGN(Graph region, graph(depth + 1));
        n.regions.push_back(std::make_shared<const Graph>(std::move(region)));
      } else {
        return {};
      }
    }
  }

  Result<Graph> simple_region(const Node& owner) {
    size_t start = in_.position();
    TUFF_ASSIGN(std::string_view op_word, in_.word("an operation"));
    std::optional<Op> op = find_op(op_word);
    if (!op || op_info(*op).type_rule != TypeRule::kSame || owner.types.empty())
      return in_.error_at(start, fmt::format("'{}' cannot stand after 'applies'.", op_word));
    TensorType scalar{owner.types[0].dtype, {}};
    Graph body;
    Value a = body.add_parameter(scalar), b = body.add_parameter(scalar);
    body.set_outputs({add_op(body, *op, {a, b}, scalar)});
    return body;
  }

  Status attrs(Node& n) {
    std::vector<NamedValue> values;
    size_t open = in_.position();
    bool more = in_.accept("{");
    while (more && !in_.accept("}")) {
      if (!values.empty()) TUFF_RETURN_IF_ERROR(in_.expect(","));
      NamedValue given;
      given.place = in_.position();
      TUFF_ASSIGN(given.name, name("an attribute's name"));
      for (const NamedValue& other : values)
        if (other.name == given.name)
          return in_.error_at(given.place,
                              fmt::format("Attribute '{}' is given twice.", given.name));
      TUFF_RETURN_IF_ERROR(in_.expect("="));
      TUFF_ASSIGN(given.value, attr());
      values.push_back(std::move(given));
    }
    Result<Attrs> attrs = read_attributes(n.op, std::move(values), &open);
    if (!attrs.ok()) return in_.error_at(open, attrs.error().message);
    n.attrs = std::move(*attrs);
    return {};
  }

  Result<AttrValue> attr() {
    if (in_.peek() == '"') {
      TUFF_ASSIGN(std::string s, in_.string("a string"));
      return AttrValue(std::move(s));
    }
    if (in_.accept_word("strings")) {
      TUFF_RETURN_IF_ERROR(in_.expect("["));
      TUFF_RETURN_IF_ERROR(in_.expect("]"));
      return AttrValue(std::vector<std::string>());
    }
    if (in_.accept("[")) return list();
    char c = in_.peek();
    bool numeric = (c >= '0' && c <= '9') || c == '-';
    if (numeric || in_.accept_word("inf") || in_.accept_word("nan")) return attr_number(numeric, c);
    TUFF_ASSIGN(Literal l, literal());
    return AttrValue(std::move(l));
  }

  // An integer, or a double: then the text has '.', an exponent or 0x.
  Result<AttrValue> attr_number(bool numeric, char first) {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    if (!numeric) return AttrValue(first == 'i' ? kInf : quiet_nan());
    size_t start = in_.position();
    TUFF_ASSIGN(std::string_view text, in_.number("a number"));
    int64_t i;
    if (from_text(text, i)) return AttrValue(i);
    if (auto bits = parse_element(DType::kF64, text))
      return AttrValue(std::bit_cast<double>(*bits));
    return in_.error_at(start, fmt::format("'{}' is not a number.", text));
  }

  Result<AttrValue> list() {
    if (in_.peek() == '"') {
      std::vector<std::string> strings;
      do {
        TUFF_ASSIGN(std::string s, in_.string("a string"));
        strings.push_back(std::move(s));
      } while (in_.accept(","));
      TUFF_RETURN_IF_ERROR(in_.expect("]"));
      return AttrValue(std::move(strings));
    }
    std::vector<int64_t> ints;
    while (!in_.accept("]")) {
      if (!ints.empty()) TUFF_RETURN_IF_ERROR(in_.expect(","));
      TUFF_ASSIGN(int64_t i, in_.integer("an integer"));
      ints.push_back(i);
    }
    return AttrValue(std::move(ints));
  }

  Result<TensorType> type() {
    size_t start = in_.position();
    TUFF_ASSIGN(std::string_view word, in_.word("an element type"));
    Result<DType> dtype = parse_dtype(word);
    if (!dtype.ok()) return in_.error_at(start, dtype.error().message);
    TensorType t{*dtype, {}};
    TUFF_RETURN_IF_ERROR(in_.expect("["));
    for (bool first = true; !in_.accept("]"); first = false) {
      if (!first) TUFF_RETURN_IF_ERROR(in_.expect(","));
      TUFF_ASSIGN(int64_t size, in_.integer("a dimension"));
      t.shape.push_back(size);
    }
    Result<int64_t> elements = checked_num_elements(t.shape);
    if (!elements.ok()) return in_.error_at(start, elements.error().message);
    return t;
  }

  Result<Literal> literal() {
    size_t start = in_.position();
    TUFF_ASSIGN(TensorType t, type());
    if (t.size_bytes() > kMaxLiteralBytes)
      return in_.error_at(start, fmt::format("The literal has ({}) bytes; at most ({}) are read.",
                                             t.size_bytes(), kMaxLiteralBytes));
    if (in_.accept_word("hex")) {
      TUFF_ASSIGN(std::string bytes, in_.hex_bytes(static_cast<size_t>(t.size_bytes())));
      Literal l(t);
      if (!bytes.empty()) std::memcpy(l.mutable_bytes(), bytes.data(), bytes.size());
      return l;
    }
    if (in_.accept_word("apart")) return literal_apart(t, start);
    if (in_.accept_word("elided"))
      return in_.error_at(start, "The literal's bytes were left out when it was printed.");
    return in_.accept("{") ? listed_literal(std::move(t), start) : splat_literal(std::move(t));
  }

  Result<uint64_t> element(DType dtype) {
    size_t start = in_.position();
    TUFF_ASSIGN(std::string_view text, in_.number("a value"));
    std::optional<uint64_t> bits = parse_element(dtype, text);
    if (!bits)
      return in_.error_at(start,
                          fmt::format("'{}' is not a value of type {}.", text, dtype_name(dtype)));
    return *bits;
  }

  Result<Literal> splat_literal(TensorType t) {
    TUFF_ASSIGN(uint64_t bits, element(t.dtype));
    auto size = static_cast<size_t>(dtype_size(t.dtype));
    Literal l(std::move(t));
    for (int64_t i = 0; i < l.num_elements(); ++i)
      std::memcpy(l.mutable_bytes() + static_cast<size_t>(i) * size, &bits, size);
    return l;
  }

  Result<Literal> listed_literal(TensorType t, size_t start) {
    auto size = static_cast<size_t>(dtype_size(t.dtype));
    std::vector<std::byte> bytes;
    while (!in_.accept("}")) {
      if (!bytes.empty()) TUFF_RETURN_IF_ERROR(in_.expect(","));
      TUFF_ASSIGN(uint64_t bits, element(t.dtype));
      auto* from = reinterpret_cast<const std::byte*>(&bits);
      bytes.insert(bytes.end(), from, from + size);
    }
    if (static_cast<int64_t>(bytes.size()) != t.size_bytes())
      return in_.error_at(start,
                          fmt::format("The literal lists ({}) values where its type has ({}).",
                                      bytes.size() / size, t.num_elements()));
    return Literal(std::move(t), std::move(bytes));
  }

  Result<Literal> literal_apart(const TensorType& t, size_t start) {
    TUFF_ASSIGN(int64_t place, in_.integer("the place of a literal"));
    if (place < 0 || static_cast<size_t>(place) >= apart_.size())
      return in_.error_at(start, fmt::format("There is no literal ({}) of ({}) beside the text.",
                                             place, apart_.size()));
    const Literal& l = apart_[static_cast<size_t>(place)];
    if (l.type() != t)
      return in_.error_at(start, fmt::format("The literal ({}) beside the text has type ({}).",
                                             place, l.type().to_string()));
    return l;
  }

  TextCursor in_;
  std::span<const Literal> apart_;
};

}  // namespace

Result<Graph> parse_graph(std::string_view text, const std::string& file,
                          std::span<const Literal> apart) {
  return Parser(text, file, apart).top();
}

}  // namespace tuff
