#include "frontend/saved/write.h"

#include <fmt/format.h>

#include "frontend/saved/layout.h"
#include "frontend/weights/file.h"
#include "frontend/weights/json.h"
#include "ir/text/print.h"

namespace tuff::saved {

namespace {

// Data behind the header, in order.
class Pieces {
 public:
  // Where it lies, from the end of the header: [offset, bytes].
  std::string add(std::string_view bytes) {
    std::string place = fmt::format("[{},{}]", offset_, bytes.size());
    list_.push_back(bytes);
    offset_ += aligned(bytes.size());
    return place;
  }
  std::string add(const Literal& value) {
    return add(
        {reinterpret_cast<const char*>(value.bytes()), static_cast<size_t>(value.size_bytes())});
  }
  size_t size_bytes() const { return offset_; }
  const std::vector<std::string_view>& list() const { return list_; }

 private:
  std::vector<std::string_view> list_;
  size_t offset_ = 0;
};

// A list or object out of its entries' texts. (nlohmann::json's destructor takes memory.)
std::string list_of(const std::vector<std::string>& entries) {
  return fmt::format("[{}]", fmt::join(entries, ","));
}
std::string object_of(const std::vector<std::string>& entries) {
  return fmt::format("{{{}}}", fmt::join(entries, ","));
}
std::string entry(const std::string& key, const std::string& value) {
  return json_string(key) + ":" + value;
}

std::string json_of(const ModelArgument& argument, Pieces& pieces) {
  std::vector<std::string> entries = {entry("name", json_string(argument.name))};
  if (argument.is_weight) entries.push_back(entry("weight", "true"));
  if (argument.init)
    entries.push_back(
        entry("init", object_of({entry("scale", fmt::format("{}", argument.init->scale)),
                                 entry("mean", fmt::format("{}", argument.init->mean))})));
  if (argument.value) entries.push_back(entry("value", pieces.add(*argument.value)));
  if (argument.is_fixed && argument.value) entries.push_back(entry("fixed", "true"));
  return object_of(entries);
}

// What lives while the pieces are written.
struct Content {
  std::string graph;
  std::vector<Literal> constants;
  Pieces pieces;
};

std::string header_of(const Model& model, Content& content) {
  PrintOptions print_options;
  print_options.locations = true;
  print_options.apart = &content.constants;
  content.graph = print(model.graph, print_options);
  Pieces& pieces = content.pieces;
  std::vector<std::string> entries = {
      entry("tuff", json_string(TUFF_VERSION)), entry("made_for", json_string(model.made_for)),
      entry("module", json_string(model.module_path)), entry("graph", pieces.add(content.graph))};
  auto add_list = [&](const char* key, const auto& values, auto&& json_of_value) {
    std::vector<std::string> texts;
    for (const auto& value : values) texts.push_back(json_of_value(value));
    entries.push_back(entry(key, list_of(texts)));
  };
  add_list("constants", content.constants, [&](const Literal& constant) {
    const TensorType& type = constant.type();
    return object_of({entry("dtype", json_string(dtype_name(type.dtype))),
                      entry("shape", fmt::format("[{}]", fmt::join(type.shape, ","))),
                      entry("data", pieces.add(constant))});
  });
  add_list("arguments", model.arguments,
           [&](const ModelArgument& argument) { return json_of(argument, pieces); });
  add_list("results", model.results, json_string);
  auto dtype = [](DType value) { return json_string(dtype_name(value)); };
  add_list("argument_dtypes", model.argument_dtypes, dtype);
  add_list("result_dtypes", model.result_dtypes, dtype);
  add_list("counted", model.counted, [](const CountedResult& counted) {
    return fmt::format("[{},{},{}]", counted.result, counted.dimension, counted.count);
  });
  if (!model.code) return object_of(entries);
  std::vector<std::string> code;
  for (const auto& [text, words] : *model.code)
    code.push_back(entry(text, pieces.add({reinterpret_cast<const char*>(words.data()),
                                           words.size() * sizeof(uint32_t)})));
  entries.push_back(entry("code", object_of(code)));
  return object_of(entries);
}

void put(std::string& out, uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
}

std::string bytes_of(const Prefix& prefix) {
  std::string out(kMagic);
  put(out, prefix.format, 4);
  put(out, 0, 4);
  put(out, prefix.header_bytes, 8);
  put(out, prefix.file_bytes, 8);
  put(out, prefix.digest, 8);
  out.resize(kPrefixBytes);
  return out;
}

}  // namespace

Status write(const std::string& path, const Model& model) {
  Content content;
  std::string header = header_of(model, content);
  header.resize(aligned(header.size()), ' ');
  Prefix prefix;
  prefix.header_bytes = header.size();
  prefix.file_bytes = kPrefixBytes + header.size() + content.pieces.size_bytes();
  static constexpr char kZeros[kAlignment] = {};
  std::vector<std::string_view> bytes = {{}, header};
  Digest digest;
  digest.add(header);
  for (std::string_view piece : content.pieces.list()) {
    digest.add(piece);
    bytes.push_back(piece);
    bytes.emplace_back(kZeros, aligned(piece.size()) - piece.size());
  }
  prefix.digest = digest.value(prefix);
  std::string first = bytes_of(prefix);
  bytes[0] = first;
  return write_file(path, bytes);
}

}  // namespace tuff::saved
