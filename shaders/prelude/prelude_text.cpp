#include "shaders/prelude/prelude_text.h"

#include <cctype>
#include <vector>

namespace tuff {
namespace {

// One function or struct of the prelude.
struct Item {
  std::string file;
  std::string name;
  std::string first_type;  // of the first parameter; empty for a struct
  std::string text;
  std::set<std::string> names;  // t_* names in it; its own only where it calls an overload
};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// The files' layout is fixed: an item starts at column 0 with T_FN or struct and ends
// with a line that is } or }; or, when it is one line, with that line.
std::vector<Item> parse_file(const PreludeFile& file) {
  std::vector<Item> items;
  bool inside = false;
  std::string_view rest = file.text;
  while (!rest.empty()) {
    const size_t end = rest.find('\n');
    std::string_view line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
    if (const size_t comment = line.find("//"); comment != std::string_view::npos) {
      line = line.substr(0, comment);
    }
    while (!line.empty() && line.back() == ' ') line.remove_suffix(1);
    if (!inside) {
      const bool function = line.starts_with("T_FN ");
      if (!function && !line.starts_with("struct ")) continue;
      if (function) line.remove_prefix(5);
      Item item;
      item.file = file.name;
      const size_t start = line.find(" t_") + 1;
      size_t stop = start;
      while (stop < line.size() && is_word(line[stop])) ++stop;
      item.name = line.substr(start, stop - start);
      if (function) item.first_type = line.substr(stop + 1, line.find(' ', stop) - stop - 1);
      items.push_back(item);
      inside = true;
    }
    if (line.empty()) continue;
    items.back().text.append(line).append("\n");
    const bool one_line = items.back().text.size() == line.size() + 1;
    inside = !(line == "}" || line == "};" || (one_line && line.back() == '}'));
  }
  for (Item& item : items) {
    // A struct's return type stands before the brace, a call of an overload after it.
    item.names = prelude_names(item.text);
    const std::set<std::string> body = prelude_names(item.text.substr(item.text.find('{')));
    if (!body.contains(item.name)) item.names.erase(item.name);
  }
  return items;
}

const std::vector<Item>& all_items() {
  static const std::vector<Item> items = [] {
    std::vector<Item> result;
    for (const PreludeFile* file = kPreludeFiles; file->name != nullptr; ++file) {
      for (Item& item : parse_file(*file)) result.push_back(std::move(item));
    }
    return result;
  }();
  return items;
}

bool enabled(const Item& item, const PreludeOptions& options) {
  if (item.file == "int64") return options.int64 || options.float64;
  if (item.file == "pairs") return options.pairs;
  if (item.file == "float64") return options.float64;
  if (item.file == "ieee_device") return !options.native_division && !options.fused_multiply_add;
  if (item.file == "ieee_fused") return !options.native_division && options.fused_multiply_add;
  if (item.file == "ieee_native") return options.native_division;
  if (item.file == "f16_widen") return !options.native_f16_widen;
  if (item.file == "f16_widen_native") return options.native_f16_widen;
  if (item.file == "f16_narrow") return !options.native_f16_narrow;
  if (item.file == "f16_narrow_native") return options.native_f16_narrow;
  return true;
}

// How values of a type are computed with.
enum class Compute { kBool, kInt, kUint, kInt64, kUint64, kFloat, kDouble };

Compute compute_of(DType dtype) {
  switch (dtype) {
    case DType::kBool: return Compute::kBool;
    case DType::kI8:
    case DType::kI16:
    case DType::kI32: return Compute::kInt;
    case DType::kI64: return Compute::kInt64;
    case DType::kU8:
    case DType::kU16:
    case DType::kU32: return Compute::kUint;
    case DType::kU64: return Compute::kUint64;
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32: return Compute::kFloat;
    case DType::kF64: return Compute::kDouble;
    default: break;  // no kernel has any
  }
  return Compute::kInt;
}

bool is_wide(Compute compute) { return compute == Compute::kInt64 || compute == Compute::kUint64; }

const char* compute_name(Compute compute, bool pairs) {
  if (pairs && is_wide(compute)) return compute == Compute::kInt64 ? "ivec2" : "uvec2";
  static const char* const kNames[] = {"bool",     "int",   "uint",  "int64_t",
                                       "uint64_t", "float", "double"};
  return kNames[static_cast<int>(compute)];
}

// "i32" for int and so on, as the conversion functions are named.
const char* short_name(Compute compute) {
  static const char* const kNames[] = {"bool", "i32", "u32", "i64", "u64", "f32", "f64"};
  return kNames[static_cast<int>(compute)];
}

std::string call(const std::string& name, const std::string& operand) {
  return name + "(" + operand + ")";
}

}  // namespace

std::set<std::string> prelude_names(std::string_view text) {
  std::set<std::string> names;
  for (size_t i = 0; i < text.size();) {
    if (!is_word(text[i])) {
      ++i;
      continue;
    }
    size_t end = i;
    while (end < text.size() && is_word(text[end])) ++end;
    const std::string_view word = text.substr(i, end - i);
    if (word.starts_with("t_")) names.emplace(word);
    i = end;
  }
  return names;
}

std::string prelude_functions(const std::set<std::string>& used, const PreludeOptions& options) {
  const std::vector<Item>& items = all_items();
  std::vector<bool> wanted(items.size(), false);
  std::vector<size_t> queue;
  for (size_t i = 0; i < items.size(); ++i) {
    const Item& item = items[i];
    if (!enabled(item, options)) continue;
    if (!used.contains(item.name) && !used.contains(item.name + "/" + item.first_type)) continue;
    wanted[i] = true;
    queue.push_back(i);
  }
  while (!queue.empty()) {
    const Item& item = items[queue.back()];
    queue.pop_back();
    for (size_t i = 0; i < items.size(); ++i) {
      if (wanted[i] || !enabled(items[i], options) || !item.names.contains(items[i].name)) continue;
      wanted[i] = true;
      queue.push_back(i);
    }
  }
  std::string text;
  for (size_t i = 0; i < items.size(); ++i) {
    if (wanted[i]) text += items[i].text;
  }
  return text;
}

std::string convert_expression(DType from, DType to, const std::string& operand, bool pairs) {
  Compute source = compute_of(from);
  const Compute target = compute_of(to);
  const bool from_float = is_float(from);
  std::string value = operand;
  auto named_conversion = [&](const char* suffix = "") {
    return call(std::string("t_") + short_name(source) + "_to_" + short_name(target) + suffix,
                value);
  };
  if (to == DType::kBool) {
    if (source == Compute::kBool) return value;
    if (from_float) return call(std::string("t_") + short_name(source) + "_to_bool", value);
    return "(" + value + " != " + compute_name(source, pairs) + "(0))";
  }
  if (source == Compute::kDouble && (to == DType::kF16 || to == DType::kBF16)) {
    value = call("t_f64_to_f32_odd", value);  // one rounding, not two
  } else if (from_float && is_integer(to) && dtype_size(to) < 4) {
    if (source == Compute::kDouble) value = call("t_f64_to_f32_odd", value);
    return call(std::string("t_f32_to_") + (is_signed_int(to) ? "i" : "u") +
                    (dtype_size(to) == 1 ? "8" : "16"),
                value);
  } else if (source == Compute::kBool && !is_wide(target)) {
    value = call(compute_name(target, pairs), call("int", value));
  } else if (is_wide(target) && !is_wide(source) && !from_float) {
    if (source == Compute::kBool) {
      value = call("int", value);
      source = Compute::kInt;
    }
    value = named_conversion();
  } else if (target == Compute::kFloat && is_integer(from) && dtype_size(from) < 4) {
    value = call("float", call("int", value));  // exact
  } else if (source != target && (from_float || is_float(to))) {
    const bool twice = is_integer(from) && dtype_size(from) >= 4 && to == DType::kBF16;
    value = named_conversion(twice ? "_odd" : "");
  } else if (source != target) {
    value = call(compute_name(target, pairs), value);
  }
  if (from == to) return value;
  if (to == DType::kF16) return call("t_round_f16", value);
  if (to == DType::kBF16) return call("t_round_bf16", value);
  if (to == DType::kI8) return call("t_wrap_i8", value);
  if (to == DType::kI16) return call("t_wrap_i16", value);
  if (to == DType::kU8) return call("t_wrap_u8", value);
  if (to == DType::kU16) return call("t_wrap_u16", value);
  return value;
}

}  // namespace tuff
