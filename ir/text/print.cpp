#include "ir/text/print.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "ir/support/hash.h"

namespace tuff {

namespace {

// Lists longer than this are printed as bytes.
constexpr int64_t kMaxListed = 16;

bool is_identifier(std::string_view s) {
  if (s.empty() || (s[0] >= '0' && s[0] <= '9')) return false;
  for (char c : s)
    if (!(std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.')) return false;
  return true;
}

std::string quote(std::string_view s) {
  std::string out = "\"";
  for (char c : s) {
    auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (byte < 0x20 || byte == 0x7f) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
  return out + '"';
}

std::string print_name(const std::string& name) { return is_identifier(name) ? name : quote(name); }

template <typename T>
T load(const Literal& literal, int64_t index) {
  T value;
  std::memcpy(&value, literal.bytes() + index * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

// Shortest decimal, or the bits where decimal would lose them.
template <typename F, typename Bits>
std::string print_float(F value, Bits bits, Bits canonical_nan) {
  if (bits == canonical_nan) return "nan";
  if (std::isnan(value)) return fmt::format("0x{:0{}x}", bits, sizeof(Bits) * 2);
  return fmt::format("{}", value);
}

std::string print_element(const Literal& literal, int64_t i) {
  switch (literal.type().dtype) {
    case DType::kBool: {
      auto byte = load<uint8_t>(literal, i);
      return byte == 0 ? "false" : byte == 1 ? "true" : fmt::format("0x{:02x}", byte);
    }
    case DType::kU64: return fmt::format("{}", load<uint64_t>(literal, i));
    case DType::kF16: {
      auto bits = load<uint16_t>(literal, i);
      return print_float(f16_to_f32(bits), bits, uint16_t{0x7e00});
    }
    case DType::kBF16: {
      auto bits = load<uint16_t>(literal, i);
      return print_float(bf16_to_f32(bits), bits, uint16_t{0x7fc0});
    }
    case DType::kF32: {
      auto bits = load<uint32_t>(literal, i);
      return print_float(std::bit_cast<float>(bits), bits, uint32_t{0x7fc00000});
    }
    case DType::kF64: {
      auto bits = load<uint64_t>(literal, i);
      return print_float(std::bit_cast<double>(bits), bits, uint64_t{0x7ff8000000000000});
    }
    default: return fmt::format("{}", literal.get_int(i));
  }
}

std::string print_hex(const Literal& literal, const PrintOptions& options) {
  std::string_view bytes(reinterpret_cast<const char*>(literal.bytes()),
                         static_cast<size_t>(literal.size_bytes()));
  if (options.elide_above_bytes >= 0 && literal.size_bytes() > options.elide_above_bytes)
    return fmt::format("elided \"{}\"", sha256_hex(bytes).substr(0, 16));
  if (options.apart) {
    options.apart->push_back(literal);
    return fmt::format("apart {}", options.apart->size() - 1);
  }
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out = "hex \"";
  out.reserve(out.size() + bytes.size() * 2 + 1);
  for (char c : bytes) {
    auto byte = static_cast<unsigned char>(c);
    out += kDigits[byte >> 4];
    out += kDigits[byte & 15];
  }
  return out + '"';
}

// Doubles always look unlike integers, so that the reader keeps the kind.
std::string print_double(double value) {
  std::string text =
      print_float(value, std::bit_cast<uint64_t>(value), uint64_t{0x7ff8000000000000});
  return text.find_first_of(".einx") == std::string::npos ? text + ".0" : text;
}

template <typename List, typename PrintOne>
std::string print_list(const List& list, PrintOne print_one) {
  std::string out = "[";
  for (size_t i = 0; i < list.size(); ++i) out += (i ? ", " : "") + print_one(list[i]);
  return out + "]";
}

class Printer {
 public:
  explicit Printer(PrintOptions options) : options_(options) {}

  std::string take() { return std::move(out_); }

  void graph(const Graph& g, int indent) {
    out_ += "graph " + print_name(g.name) + "(";
    for (uint32_t i = 0; i < g.num_parameters(); ++i) {
      if (i) out_ += ", ";
      out_ += fmt::format("%{}: {}", i, print_type(g.node(i).types[0]));
      if (g.parameter_name(i) != fmt::format("arg{}", i))
        out_ += fmt::format(" {}", quote(g.parameter_name(i)));
      location(g.node(i));
    }
    out_ += ") {\n";
    std::string margin(static_cast<size_t>(indent) + 2, ' ');
    for (uint32_t id = g.num_parameters(); id < g.nodes().size(); ++id) {
      out_ += margin;
      node(g, id, indent + 2);
      out_ += '\n';
    }
    if (!g.donations.empty()) out_ += margin + "donate " + donations(g) + "\n";
    out_ +=
        margin + "return" + outputs(g) + "\n" + std::string(static_cast<size_t>(indent), ' ') + "}";
  }

 private:
  static std::string value(Value v) {
    return v.result ? fmt::format("%{}#{}", v.node, v.result) : fmt::format("%{}", v.node);
  }

  static std::string donations(const Graph& g) {
    std::string out;
    for (auto [parameter, output] : g.donations)
      out += fmt::format("{}%{} -> {}", out.empty() ? "" : ", ", parameter, output);
    return out;
  }

  static std::string outputs(const Graph& g) {
    std::string out;
    for (size_t i = 0; i < g.outputs().size(); ++i) {
      out += (i ? ", " : " ") + value(g.outputs()[i]);
      if (g.output_names()[i] != fmt::format("out{}", i))
        out += fmt::format(" {}", quote(g.output_names()[i]));
    }
    return out;
  }

  void location(const Node& n) {
    if (options_.locations && !n.loc.empty()) out_ += " loc(" + quote(n.loc) + ")";
  }

  void node(const Graph& g, uint32_t id, int indent) {
    const Node& n = g.node(id);
    out_ += n.types.size() == 1 ? fmt::format("%{} = ", id)
                                : fmt::format("%{}:{} = ", id, n.types.size());
    out_ += op_name(n.op);
    if (is_plain_constant(n)) {
      out_ += fmt::format(" {}", print_literal(n.attrs.as<ConstantAttrs>().value, options_));
      return location(n);
    }
    out_ += '(';
    for (size_t i = 0; i < n.operands.size(); ++i) out_ += (i ? ", " : "") + value(n.operands[i]);
    out_ += ')';
    attrs(n.attrs);
    out_ += " : ";
    if (n.types.empty()) out_ += "()";
    for (size_t i = 0; i < n.types.size(); ++i) out_ += (i ? ", " : "") + print_type(n.types[i]);
    for (const GraphPtr& r : n.regions) region(n, *r, indent);
    location(n);
  }

  void attrs(const Attrs& attrs) {
    const char* separator = " {";
    for (const NamedValue& attribute : attribute_values(attrs)) {
      out_ += separator + attribute.name + " = " + print_attr(attribute.value, options_);
      separator = ", ";
    }
    if (separator[0] == ',') out_ += '}';
  }

  void region(const Node& owner, const Graph& r, int indent) {
    out_ += ' ';
    if (is_short(owner, r)) {
      out_ += std::string("applies ") + op_name(r.nodes().back().op);
    } else {
      graph(r, indent);
    }
  }

  static bool is_plain_constant(const Node& n) {
    if (n.op != Op::kConstant || !n.operands.empty() || !n.regions.empty()) return false;
    return n.types.size() == 1 && n.attrs.as<ConstantAttrs>().value.type() == n.types[0];
  }

  // "applies OP" says everything: names are the defaults, the element type is
  // the owner's first result's, and no location would be lost.
  bool is_short(const Node& owner, const Graph& r) const {
    if (!simple_body(r) || owner.types.empty() || r.name != "main" || !r.donations.empty())
      return false;
    if (r.node(0).types[0].dtype != owner.types[0].dtype) return false;
    if (r.parameter_name(0) != "arg0" || r.parameter_name(1) != "arg1") return false;
    if (r.output_names()[0] != "out0") return false;
    if (!options_.locations) return true;
    for (const Node& n : r.nodes())
      if (!n.loc.empty()) return false;
    return true;
  }

  PrintOptions options_;
  std::string out_;
};

}  // namespace

std::optional<Op> simple_body(const Graph& r) {
  if (r.num_parameters() != 2 || r.nodes().size() != 3 || r.outputs() != std::vector<Value>{{2, 0}})
    return std::nullopt;
  const Node& n = r.node(2);
  const TensorType& type = r.node(0).types[0];
  if (op_info(n.op).type_rule != TypeRule::kSame || n.attrs.kind() != AttrsKind::kNone ||
      type.rank() != 0)
    return std::nullopt;
  if (n.operands != std::vector<Value>{{0, 0}, {1, 0}} || r.node(1).types[0] != type)
    return std::nullopt;
  if (n.types != std::vector<TensorType>{type}) return std::nullopt;
  return n.op;
}

std::string print_type(const TensorType& type) {
  std::string out = std::string(dtype_name(type.dtype)) + "[";
  for (size_t i = 0; i < type.shape.size(); ++i)
    out += fmt::format("{}{}", i ? "," : "", type.shape[i]);
  return out + "]";
}

std::string print_literal(const Literal& literal, PrintOptions options) {
  std::string out = print_type(literal.type()) + " ";
  int64_t n = literal.num_elements();
  if (n > 0 && literal.is_splat()) return out + print_element(literal, 0);
  if (n > kMaxListed) return out + print_hex(literal, options);
  out += "{";
  for (int64_t i = 0; i < n; ++i) out += (i ? ", " : "") + print_element(literal, i);
  return out + "}";
}

std::string print_attr(const AttrValue& value, PrintOptions options) {
  if (auto* i = std::get_if<int64_t>(&value)) return fmt::format("{}", *i);
  if (auto* d = std::get_if<double>(&value)) return print_double(*d);
  if (auto* s = std::get_if<std::string>(&value)) return quote(*s);
  if (auto* v = std::get_if<std::vector<int64_t>>(&value))
    return print_list(*v, [](int64_t i) { return fmt::format("{}", i); });
  if (auto* v = std::get_if<std::vector<std::string>>(&value))
    return (v->empty() ? "strings" : "") +
           print_list(*v, [](const std::string& s) { return quote(s); });
  return print_literal(std::get<Literal>(value), options);
}

std::string print(const Graph& graph, PrintOptions options) {
  Printer printer(options);
  printer.graph(graph, 0);
  return printer.take() + "\n";
}

}  // namespace tuff
