#include "frontend/weights/signature.h"

#include <fmt/format.h>

#include <set>

#include "frontend/weights/json.h"

namespace tuff {

namespace {

constexpr uint64_t kFormat = 1;
constexpr int kMaxSignatureDepth = 8;  // {"arguments": [{"shape": [, and room for what others add
constexpr size_t kMaxSignatureBytes = size_t{64} << 20;

// Reads one entry of "arguments" or "results"; knows where it stands for messages.
class EntryReader {
 public:
  EntryReader(const JsonValue& entry, std::string place, const std::string& file)
      : entry_(entry), place_(std::move(place)), file_(file) {}

  Error bad(const std::string& what) const {
    return {ErrorCode::kBadInput, fmt::format("The entry {} {}.", place_, what), file_};
  }

  Result<std::string> text(const char* key) const {
    const JsonValue* found = entry_.find(key);
    if (found == nullptr || found->text() == nullptr)
      return bad(fmt::format("has no text under \"{}\"", key));
    return *found->text();
  }

  Result<TensorType> type() const {
    TUFF_ASSIGN(std::string name, text("dtype"));
    Result<DType> dtype = parse_element_type(name);
    if (!dtype.ok())
      return Error{dtype.error().code,
                   fmt::format("The entry {}: {}", place_, dtype.error().message), file_};
    const JsonValue* shape = entry_.find("shape");
    if (shape == nullptr || shape->list() == nullptr) return bad("has no list under \"shape\"");
    TensorType type{*dtype, {}};
    for (const JsonValue& size : *shape->list()) {
      if (size.whole() == nullptr || *size.whole() > static_cast<uint64_t>(INT64_MAX))
        return bad(
            fmt::format("has a dimension ({}) that is not a whole number", size.to_string()));
      type.shape.push_back(static_cast<int64_t>(*size.whole()));
    }
    Result<int64_t> count = checked_num_elements(type.shape);
    if (!count.ok()) return bad("has too many elements: " + count.error().message);
    return type;
  }

  Result<std::optional<SeededInit>> init(const TensorType& type) const {
    const JsonValue* found = entry_.find("init");
    if (found == nullptr) return std::optional<SeededInit>();
    if (found->object() == nullptr || !is_float(type.dtype))
      return bad("has an \"init\" that is no object, or its type is no float");
    SeededInit init;
    for (const auto& [key, value] : *found->object()) {
      std::optional<double> number = value.number();
      if (!number) return bad(fmt::format("has an \"init\" whose \"{}\" is no number", key));
      if (key == "scale")
        init.scale = *number;
      else if (key == "mean")
        init.mean = *number;
      else
        return bad(fmt::format("has an \"init\" with an unknown key (\"{}\")", key));
    }
    return std::optional<SeededInit>(init);
  }

 private:
  const JsonValue& entry_;
  std::string place_;
  const std::string& file_;
};

Result<SignatureArgument> parse_argument(const EntryReader& entry) {
  SignatureArgument argument;
  TUFF_ASSIGN(argument.name, entry.text("name"));
  if (argument.name.empty()) return entry.bad("has an empty name");
  TUFF_ASSIGN(std::string kind, entry.text("kind"));
  if (kind != "weight" && kind != "input")
    return entry.bad(fmt::format("has kind ({}); it is weight or input", kind));
  argument.is_weight = kind == "weight";
  TUFF_ASSIGN(argument.type, entry.type());
  TUFF_ASSIGN(argument.init, entry.init(argument.type));
  return argument;
}

Error signature_error(const std::string& file, const std::string& sentence) {
  return {ErrorCode::kBadInput, sentence, file};
}

}  // namespace

Result<Signature> parse_signature(std::string_view text, const std::string& file) {
  if (text.size() > kMaxSignatureBytes)
    return signature_error(
        file, fmt::format("The signature has ({}) bytes; at most ({}) are accepted.", text.size(),
                          kMaxSignatureBytes));
  TUFF_ASSIGN(JsonValue json, read_json_object(text, kMaxSignatureDepth, "The signature", file));
  const JsonValue* format = json.find("format");
  if (format == nullptr || !format->number())
    return signature_error(file, "The signature has no \"format\" number.");
  if (format->whole() == nullptr || *format->whole() != kFormat)
    return Error{ErrorCode::kUnsupported,
                 fmt::format("The signature's format ({}) is not known; tuff reads ({}).",
                             format->to_string(), kFormat),
                 file};
  Signature signature;
  std::set<std::string> names;
  for (const char* list : {"arguments", "results"}) {
    const JsonValue* entries = json.find(list);
    if (entries == nullptr || entries->list() == nullptr)
      return signature_error(file, fmt::format("The signature has no \"{}\" list.", list));
    for (size_t i = 0; i < entries->list()->size(); ++i) {
      EntryReader entry((*entries->list())[i], fmt::format("{}[{}]", list, i), file);
      if (list[0] == 'a') {
        TUFF_ASSIGN(SignatureArgument argument, parse_argument(entry));
        if (!names.insert(argument.name).second)
          return entry.bad(fmt::format("has a name ({}) that stands twice", argument.name));
        signature.arguments.push_back(std::move(argument));
      } else {
        SignatureResult result;
        TUFF_ASSIGN(result.name, entry.text("name"));
        TUFF_ASSIGN(result.type, entry.type());
        signature.results.push_back(std::move(result));
      }
    }
  }
  return signature;
}

}  // namespace tuff
