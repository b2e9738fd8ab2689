#include "frontend/saved/write.h"

#include "frontend/saved/layout.h"
#include "frontend/weights/file.h"
#include "frontend/weights/json.h"
#include "ir/text/print.h"

namespace tuff::saved {

namespace {

using Json = nlohmann::json;

// Data behind the header, in order.
class Pieces {
 public:
  // Where it lies, from the end of the header: [offset, bytes].
  Json add(std::string_view bytes) {
    Json place = {offset_, bytes.size()};
    list_.push_back(bytes);
    offset_ += aligned(bytes.size());
    return place;
  }
  Json add(const Literal& value) {
    return add(
        {reinterpret_cast<const char*>(value.bytes()), static_cast<size_t>(value.size_bytes())});
  }
  size_t size_bytes() const { return offset_; }
  const std::vector<std::string_view>& list() const { return list_; }

 private:
  std::vector<std::string_view> list_;
  size_t offset_ = 0;
};

Json json_of(const ModelArgument& argument, Pieces& pieces) {
  Json json = {{"name", argument.name}};
  if (argument.is_weight) json["weight"] = true;
  if (argument.init)
    json["init"] = {{"scale", argument.init->scale}, {"mean", argument.init->mean}};
  if (argument.value) json["value"] = pieces.add(*argument.value);
  if (argument.is_fixed && argument.value) json["fixed"] = true;
  return json;
}

Json json_of(const std::vector<bool>& flags) {
  Json json = Json::array();
  for (bool flag : flags) json.push_back(flag);
  return json;
}

// What lives while the pieces are written.
struct Content {
  std::string graph;
  std::vector<Literal> constants;
  Pieces pieces;
};

Json header_of(const Model& model, Content& content) {
  PrintOptions print_options;
  print_options.locations = true;
  print_options.apart = &content.constants;
  content.graph = print(model.graph, print_options);
  Json json = {{"tuff", TUFF_VERSION},
               {"made_for", model.made_for},
               {"module", model.module_path},
               {"graph", content.pieces.add(content.graph)}};
  for (const Literal& constant : content.constants)
    json["constants"].push_back({{"dtype", dtype_name(constant.type().dtype)},
                                 {"shape", constant.type().shape},
                                 {"data", content.pieces.add(constant)}});
  for (const ModelArgument& argument : model.arguments)
    json["arguments"].push_back(json_of(argument, content.pieces));
  for (const std::string& result : model.results) json["results"].push_back(result);
  json["complex_arguments"] = json_of(model.complex_arguments);
  json["complex_results"] = json_of(model.complex_results);
  for (const CountedResult& counted : model.counted)
    json["counted"].push_back({counted.result, counted.dimension, counted.count});
  if (model.code)
    for (const auto& [text, words] : *model.code)
      json["code"][text] = content.pieces.add(
          {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)});
  return json;
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
  // Names in other encodings than UTF-8 are the one thing that JSON cannot say.
  std::string header =
      header_of(model, content).dump(-1, ' ', false, Json::error_handler_t::replace);
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
