// The reader of saved programs. Its header is a JSON object:
//
//   tuff, made_for            who wrote it, for which device: for messages
//   module                    the file that the graph is from
//   graph                     its text (ir/text/print.h), as [offset, bytes] behind the header
//   constants                 what the text has apart: {dtype, shape, data}
//   arguments                 {name, weight, init, value, fixed}, as ModelArgument has them
//   results                   names
//   complex_arguments, complex_results, counted      as Model has them
//   code                      SPIR-V by the digest of its text
#include <fmt/format.h>

#include <algorithm>

#include "frontend/saved/layout.h"
#include "frontend/session/reader.h"
#include "frontend/weights/json.h"
#include "ir/text/parse.h"
#include "ir/verify.h"

namespace tuff::saved {

namespace {

using Json = nlohmann::json;

uint64_t number_at(std::string_view bytes, size_t at, int size) {
  uint64_t value = 0;
  for (int i = 0; i < size; ++i)
    value |= uint64_t{static_cast<uint8_t>(bytes[at + static_cast<size_t>(i)])} << (8 * i);
  return value;
}

class Reader {
 public:
  explicit Reader(const ModelBytes& file) : file_(file) {}

  Result<Model> run() {
    TUFF_RETURN_IF_ERROR(read_prefix());
    TUFF_ASSIGN(header_,
                parse_json_object<Json>(file_.bytes.substr(kPrefixBytes, prefix_.header_bytes),
                                        kMaxHeaderDepth, "The saved program's header", file_.path));
    data_ = file_.bytes.substr(kPrefixBytes + prefix_.header_bytes);
    TUFF_ASSIGN(model_.made_for, text(header_, "made_for"));
    TUFF_ASSIGN(model_.module_path, text(header_, "module"));
    TUFF_RETURN_IF_ERROR(read_graph());
    TUFF_RETURN_IF_ERROR(
        read_flags("complex_arguments", model_.graph.num_parameters(), &model_.complex_arguments));
    TUFF_RETURN_IF_ERROR(
        read_flags("complex_results", model_.graph.outputs().size(), &model_.complex_results));
    TUFF_RETURN_IF_ERROR(check_complex());
    TUFF_RETURN_IF_ERROR(read_arguments());
    TUFF_RETURN_IF_ERROR(read_results());
    TUFF_RETURN_IF_ERROR(read_code());
    return std::move(model_);
  }

 private:
  Error damaged(const std::string& what) const {
    return {ErrorCode::kBadInput,
            fmt::format("The saved program is damaged: {}. Save it again.", what), file_.path};
  }
  // Only a program that is not tuff writes such a header under a right digest.
  Error bad_entry(const std::string& entry) const {
    return damaged(fmt::format("its header's entry ({}) is not as it should be", entry));
  }

  Status read_prefix() {
    std::string_view bytes = file_.bytes;
    if (bytes.size() < kPrefixBytes) return damaged("it is shorter than its first lines");
    prefix_.format = static_cast<uint32_t>(number_at(bytes, 8, 4));
    if (prefix_.format != kFormat)
      return Error{
          ErrorCode::kBadInput,
          fmt::format("The saved program is of format ({}), and this tuff reads ({}): save "
                      "it again with this one.",
                      prefix_.format, kFormat),
          file_.path};
    prefix_.header_bytes = number_at(bytes, 16, 8);
    prefix_.file_bytes = number_at(bytes, 24, 8);
    prefix_.digest = number_at(bytes, 32, 8);
    if (prefix_.file_bytes != bytes.size())
      return damaged(fmt::format("it has ({}) bytes of ({})", bytes.size(), prefix_.file_bytes));
    bool zeros = number_at(bytes, 12, 4) == 0 &&
                 bytes.substr(40, kPrefixBytes - 40).find_first_not_of('\0') == bytes.npos;
    if (!zeros || prefix_.header_bytes > bytes.size() - kPrefixBytes)
      return damaged("its first bytes are wrong");
    Digest digest;
    digest.add(bytes.substr(kPrefixBytes));
    if (digest.value(prefix_) != prefix_.digest) return damaged("its bytes are not what was saved");
    return {};
  }

  // The entry's text; empty where there is none.
  Result<std::string> text(const Json& object, const char* key) const {
    auto found = object.find(key);
    if (found == object.end()) return std::string();
    if (!found->is_string()) return bad_entry(key);
    return found->get<std::string>();
  }

  Result<std::string_view> piece(const Json& place, const char* entry) const {
    bool known = place.is_array() && place.size() == 2 && place[0].is_number_unsigned() &&
                 place[1].is_number_unsigned();
    if (!known) return bad_entry(entry);
    auto offset = place[0].get<uint64_t>(), bytes = place[1].get<uint64_t>();
    if (offset > data_.size() || bytes > data_.size() - offset || offset % kAlignment != 0)
      return bad_entry(entry);
    return data_.substr(offset, bytes);
  }

  // A view on the file, or a copy where its bytes are the caller's.
  Result<Literal> literal(const TensorType& type, const Json& place, const char* entry) const {
    TUFF_ASSIGN(std::string_view bytes, piece(place, entry));
    if (static_cast<int64_t>(bytes.size()) != type.size_bytes()) return bad_entry(entry);
    auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    if (file_.owner) return Literal(type, data, file_.owner);
    return Literal(type, std::vector<std::byte>(data, data + bytes.size()));
  }

  Result<Literal> constant(const Json& json) const {
    constexpr const char* kEntry = "constants";
    if (!json.is_object() || !json.contains("data") || !json.contains("shape"))
      return bad_entry(kEntry);
    TUFF_ASSIGN(std::string dtype, text(json, "dtype"));
    TensorType type;
    TUFF_ASSIGN(type.dtype, parse_dtype(dtype));
    const Json& shape = json["shape"];
    if (!shape.is_array()) return bad_entry(kEntry);
    for (const Json& size : shape) {
      if (!size.is_number_unsigned()) return bad_entry(kEntry);
      type.shape.push_back(size.get<int64_t>());
    }
    TUFF_ASSIGN([[maybe_unused]] int64_t elements, checked_num_elements(type.shape));
    return literal(type, json["data"], kEntry);
  }

  Status read_graph() {
    std::vector<Literal> constants;
    for (const Json& json : list("constants")) {
      TUFF_ASSIGN(Literal value, constant(json));
      constants.push_back(std::move(value));
    }
    if (!header_.contains("graph")) return bad_entry("graph");
    TUFF_ASSIGN(std::string_view printed, piece(header_["graph"], "graph"));
    TUFF_ASSIGN(model_.graph, parse_graph(printed, file_.path, constants));
    return verify(model_.graph);
  }

  // Empty where it is left out or no list.
  const Json& list(const char* key) const {
    static const Json kEmpty = Json::array();
    auto found = header_.find(key);
    return found != header_.end() && found->is_array() ? *found : kEmpty;
  }

  Status read_flags(const char* key, size_t count, std::vector<bool>* flags) const {
    for (const Json& flag : list(key)) {
      if (!flag.is_boolean()) return bad_entry(key);
      flags->push_back(flag.get<bool>());
    }
    if (!flags->empty() && flags->size() != count) return bad_entry(key);
    return {};
  }

  // What is complex has pairs of floats as its parts.
  Status check_complex() const {
    auto has_parts = [](const TensorType& type) {
      return (type.dtype == DType::kF32 || type.dtype == DType::kF64) && !type.shape.empty() &&
             type.shape.back() == 2;
    };
    const Graph& graph = model_.graph;
    for (uint32_t i = 0; i < model_.complex_arguments.size(); ++i)
      if (model_.complex_arguments[i] && !has_parts(graph.node(i).types[0]))
        return bad_entry("complex_arguments");
    for (size_t i = 0; i < model_.complex_results.size(); ++i)
      if (model_.complex_results[i] && !has_parts(graph.type(graph.outputs()[i])))
        return bad_entry("complex_results");
    return {};
  }

  Result<ModelArgument> argument(const Json& json, size_t i) const {
    constexpr const char* kEntry = "arguments";
    if (!json.is_object()) return bad_entry(kEntry);
    ModelArgument argument;
    TUFF_ASSIGN(argument.name, text(json, "name"));
    argument.is_weight = json.value("weight", Json()) == Json(true);
    argument.is_fixed = json.value("fixed", Json()) == Json(true);
    TensorType type = argument_type(model_, i);
    if (auto found = json.find("value"); found != json.end()) {
      TUFF_ASSIGN(argument.value, literal(type, *found, kEntry));
    }
    if (argument.is_fixed && !argument.value) return bad_entry(kEntry);
    if (auto found = json.find("init"); found != json.end()) {
      Json scale = found->is_object() ? found->value("scale", Json()) : Json();
      Json mean = found->is_object() ? found->value("mean", Json()) : Json();
      if (!scale.is_number() || !mean.is_number() || !is_float(type.dtype))
        return bad_entry(kEntry);
      argument.init = SeededInit{scale.get<double>(), mean.get<double>()};
    }
    return argument;
  }

  Status read_arguments() {
    const Json& arguments = list("arguments");
    if (arguments.size() != model_.graph.num_parameters()) return bad_entry("arguments");
    for (size_t i = 0; i < arguments.size(); ++i) {
      TUFF_ASSIGN(ModelArgument known, argument(arguments[i], i));
      model_.arguments.push_back(std::move(known));
    }
    return {};
  }

  Status read_results() {
    for (const Json& name : list("results")) {
      if (!name.is_string()) return bad_entry("results");
      model_.results.push_back(name.get<std::string>());
    }
    if (model_.results.size() != model_.graph.outputs().size()) return bad_entry("results");
    for (const Json& json : list("counted")) {
      TUFF_RETURN_IF_ERROR(read_counted(json));
    }
    return {};
  }

  // [result, dimension, output with the count].
  Status read_counted(const Json& json) {
    const Graph& graph = model_.graph;
    bool known = json.is_array() && json.size() == 3 &&
                 std::all_of(json.begin(), json.end(),
                             [](const Json& number) { return number.is_number_unsigned(); });
    if (!known) return bad_entry("counted");
    CountedResult counted{json[0].get<size_t>(), json[1].get<int64_t>(), json[2].get<size_t>()};
    size_t outputs = graph.outputs().size();
    if (counted.result >= outputs || counted.count >= outputs || counted.dimension < 0)
      return bad_entry("counted");
    const TensorType& whole = graph.type(graph.outputs()[counted.result]);
    const TensorType& count = graph.type(graph.outputs()[counted.count]);
    if (counted.dimension >= whole.rank() || count != TensorType{DType::kI64, {}})
      return bad_entry("counted");
    model_.counted.push_back(counted);
    return {};
  }

  Status read_code() {
    auto found = header_.find("code");
    if (found == header_.end()) return {};
    if (!found->is_object()) return bad_entry("code");
    KernelCode code;
    for (const auto& [digest, place] : found->items()) {
      TUFF_ASSIGN(std::string_view bytes, piece(place, "code"));
      if (bytes.size() % sizeof(uint32_t) != 0) return bad_entry("code");
      std::vector<uint32_t> words(bytes.size() / sizeof(uint32_t));
      std::memcpy(words.data(), bytes.data(), bytes.size());
      code.emplace(digest, std::move(words));
    }
    model_.code = std::make_shared<const KernelCode>(std::move(code));
    return {};
  }

  const ModelBytes& file_;
  Prefix prefix_;
  std::string_view data_;
  Json header_;
  Model model_;
};

}  // namespace

Result<Model> read_model(const ModelBytes& file, const AskShapes&) { return Reader(file).run(); }

}  // namespace tuff::saved
