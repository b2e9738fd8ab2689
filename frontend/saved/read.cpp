// The reader of saved programs. Its header is a JSON object:
//
//   tuff, made_for            who wrote it, for which device: for messages
//   module                    the file that the graph is from
//   graph                     its text (ir/text/print.h), as [offset, bytes] behind the header
//   constants                 what the text has apart: {dtype, shape, data}
//   arguments                 {name, weight, init, value, fixed}, as ModelArgument has them
//   results                   names
//   argument_dtypes, result_dtypes, counted          as Model has them
//   code                      SPIR-V by the digest of its text
#include <fmt/format.h>

#include <array>

#include "frontend/saved/layout.h"
#include "frontend/session/reader.h"
#include "frontend/weights/json.h"
#include "ir/text/parse.h"
#include "ir/verify.h"

namespace tuff::saved {

namespace {

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
                read_json_object(file_.bytes.substr(kPrefixBytes, prefix_.header_bytes),
                                 kMaxHeaderDepth, "The saved program's header", file_.path));
    data_ = file_.bytes.substr(kPrefixBytes + prefix_.header_bytes);
    TUFF_ASSIGN(model_.made_for, text(header_, "made_for"));
    TUFF_ASSIGN(model_.module_path, text(header_, "module"));
    TUFF_RETURN_IF_ERROR(read_graph());
    TUFF_RETURN_IF_ERROR(read_user_dtypes());
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
  Result<std::string> text(const JsonValue& object, const char* key) const {
    const JsonValue* found = object.find(key);
    if (found == nullptr) return std::string();
    if (found->text() == nullptr) return bad_entry(key);
    return *found->text();
  }

  // A list of so many whole numbers.
  template <size_t count>
  Result<std::array<uint64_t, count>> wholes(const JsonValue& json, const char* entry) const {
    const JsonValue::List* list = json.list();
    if (list == nullptr || list->size() != count) return bad_entry(entry);
    std::array<uint64_t, count> numbers;
    for (size_t i = 0; i < count; ++i) {
      const uint64_t* number = (*list)[i].whole();
      if (number == nullptr) return bad_entry(entry);
      numbers[i] = *number;
    }
    return numbers;
  }

  Result<std::string_view> piece(const JsonValue& place, const char* entry) const {
    TUFF_ASSIGN(auto numbers, wholes<2>(place, entry));
    auto [offset, bytes] = numbers;
    if (offset > data_.size() || bytes > data_.size() - offset || offset % kAlignment != 0)
      return bad_entry(entry);
    return data_.substr(offset, bytes);
  }

  // A view on the file, or a copy where its bytes are the caller's.
  Result<Literal> literal(const TensorType& type, const JsonValue& place, const char* entry) const {
    TUFF_ASSIGN(std::string_view bytes, piece(place, entry));
    if (static_cast<int64_t>(bytes.size()) != type.size_bytes()) return bad_entry(entry);
    auto* data = reinterpret_cast<const std::byte*>(bytes.data());
    if (file_.owner) return Literal(type, data, file_.owner);
    return Literal(type, std::vector<std::byte>(data, data + bytes.size()));
  }

  Result<Literal> constant(const JsonValue& json) const {
    constexpr const char* kEntry = "constants";
    const JsonValue *data = json.find("data"), *shape = json.find("shape");
    if (data == nullptr || shape == nullptr || shape->list() == nullptr) return bad_entry(kEntry);
    TUFF_ASSIGN(std::string dtype, text(json, "dtype"));
    TensorType type;
    TUFF_ASSIGN(type.dtype, parse_dtype(dtype));
    for (const JsonValue& size : *shape->list()) {
      if (size.whole() == nullptr) return bad_entry(kEntry);
      type.shape.push_back(static_cast<int64_t>(*size.whole()));
    }
    TUFF_ASSIGN([[maybe_unused]] int64_t elements, checked_num_elements(type.shape));
    return literal(type, *data, kEntry);
  }

  Status read_graph() {
    std::vector<Literal> constants;
    for (const JsonValue& json : list("constants")) {
      TUFF_ASSIGN(Literal value, constant(json));
      constants.push_back(std::move(value));
    }
    const JsonValue* graph = header_.find("graph");
    if (graph == nullptr) return bad_entry("graph");
    TUFF_ASSIGN(std::string_view printed, piece(*graph, "graph"));
    TUFF_ASSIGN(model_.graph, parse_graph(printed, file_.path, constants));
    return verify(model_.graph);
  }

  // Empty where it is left out or no list.
  const JsonValue::List& list(const char* key) const {
    static const JsonValue::List kEmpty;
    const JsonValue* found = header_.find(key);
    return found != nullptr && found->list() != nullptr ? *found->list() : kEmpty;
  }

  Status read_user_dtypes() {
    const Graph& graph = model_.graph;
    std::vector<TensorType> arguments, results;
    for (uint32_t i = 0; i < graph.num_parameters(); ++i)
      arguments.push_back(graph.node(i).types[0]);
    for (Value v : graph.outputs()) results.push_back(graph.type(v));
    TUFF_RETURN_IF_ERROR(read_dtypes("argument_dtypes", arguments, &model_.argument_dtypes));
    return read_dtypes("result_dtypes", results, &model_.result_dtypes);
  }

  // One for each of the graph's types, whose parts it has; or none.
  Status read_dtypes(const char* key, const std::vector<TensorType>& types,
                     std::vector<DType>* dtypes) const {
    const JsonValue::List& names = list(key);
    if (!names.empty() && names.size() != types.size()) return bad_entry(key);
    for (size_t i = 0; i < names.size(); ++i) {
      if (names[i].text() == nullptr) return bad_entry(key);
      TUFF_ASSIGN(DType dtype, parse_element_type(*names[i].text()));
      TensorType type{dtype, types[i].shape};
      if (is_complex(dtype) && !type.shape.empty()) type.shape.pop_back();
      if (as_parts(type) != types[i]) return bad_entry(key);
      dtypes->push_back(dtype);
    }
    return {};
  }

  static bool is_true(const JsonValue* json) {
    return json != nullptr && json->flag() != nullptr && *json->flag();
  }

  Result<ModelArgument> argument(const JsonValue& json, size_t i) const {
    constexpr const char* kEntry = "arguments";
    if (json.object() == nullptr) return bad_entry(kEntry);
    ModelArgument argument;
    TUFF_ASSIGN(argument.name, text(json, "name"));
    argument.is_weight = is_true(json.find("weight"));
    argument.is_fixed = is_true(json.find("fixed"));
    TensorType type = argument_type(model_, i);
    if (const JsonValue* found = json.find("value")) {
      TUFF_ASSIGN(argument.value, literal(type, *found, kEntry));
    }
    if (argument.is_fixed && !argument.value) return bad_entry(kEntry);
    if (const JsonValue* found = json.find("init")) {
      const JsonValue *scale = found->find("scale"), *mean = found->find("mean");
      bool known = scale && scale->number() && mean && mean->number() && is_float(type.dtype);
      if (!known) return bad_entry(kEntry);
      argument.init = SeededInit{*scale->number(), *mean->number()};
    }
    return argument;
  }

  Status read_arguments() {
    const JsonValue::List& arguments = list("arguments");
    if (arguments.size() != model_.graph.num_parameters()) return bad_entry("arguments");
    for (size_t i = 0; i < arguments.size(); ++i) {
      TUFF_ASSIGN(ModelArgument known, argument(arguments[i], i));
      model_.arguments.push_back(std::move(known));
    }
    return {};
  }

  Status read_results() {
    for (const JsonValue& name : list("results")) {
      if (name.text() == nullptr) return bad_entry("results");
      model_.results.push_back(*name.text());
    }
    if (model_.results.size() != model_.graph.outputs().size()) return bad_entry("results");
    for (const JsonValue& json : list("counted")) {
      TUFF_RETURN_IF_ERROR(read_counted(json));
    }
    return {};
  }

  // [result, dimension, output with the count].
  Status read_counted(const JsonValue& json) {
    const Graph& graph = model_.graph;
    TUFF_ASSIGN(auto numbers, wholes<3>(json, "counted"));
    CountedResult counted{numbers[0], static_cast<int64_t>(numbers[1]), numbers[2]};
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
    const JsonValue* found = header_.find("code");
    if (found == nullptr) return {};
    if (found->object() == nullptr) return bad_entry("code");
    KernelCode code;
    for (const auto& [digest, place] : *found->object()) {
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
  JsonValue header_;
  Model model_;
};

}  // namespace

Result<Model> read_model(const ModelBytes& file, const AskShapes&) { return Reader(file).run(); }

}  // namespace tuff::saved
