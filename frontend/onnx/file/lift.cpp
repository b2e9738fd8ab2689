#include "frontend/onnx/file/lift.h"

#include <fmt/format.h>

#include <cstdint>
#include <optional>

namespace tuff::onnx {

namespace {

constexpr uint32_t kGraphOfModel = 7, kInitializerOfGraph = 5, kRawData = 9;
constexpr uint32_t kLiftedOffset = 1000, kLiftedSize = 1001;
constexpr size_t kMinLifted = 256;  // less is copied with the rest

// Protobuf's wire types.
enum Wire : uint32_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

// One field of a message.
struct Field {
  uint32_t number = 0, wire = 0;
  std::string_view whole;    // with its tag
  std::string_view payload;  // of kBytes
};

std::optional<uint64_t> take_varint(std::string_view* bytes) {
  uint64_t value = 0;
  for (uint32_t shift = 0; shift < 64 && !bytes->empty(); shift += 7) {
    auto byte = static_cast<unsigned char>(bytes->front());
    bytes->remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  return std::nullopt;
}

void put_varint(uint64_t value, std::string* out) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}

void put_number(uint32_t field, uint64_t value, std::string* out) {
  put_varint(field << 3 | kVarint, out);
  put_varint(value, out);
}

void put_bytes(uint32_t field, std::string_view bytes, std::string* out) {
  put_varint(field << 3 | kBytes, out);
  put_varint(bytes.size(), out);
  out->append(bytes);
}

// The next field of a message, which must not be empty.
std::optional<Field> take_field(std::string_view* message) {
  std::string_view rest = *message;
  std::optional<uint64_t> tag = take_varint(&rest);
  if (!tag || *tag >> 3 == 0 || *tag > UINT32_MAX) return std::nullopt;
  Field field{static_cast<uint32_t>(*tag >> 3), static_cast<uint32_t>(*tag & 7), {}, {}};
  size_t size = 0;
  if (field.wire == kVarint) {
    if (!take_varint(&rest)) return std::nullopt;
  } else if (field.wire == kBytes) {
    std::optional<uint64_t> length = take_varint(&rest);
    if (!length || *length > rest.size()) return std::nullopt;
    size = static_cast<size_t>(*length);
    field.payload = rest.substr(0, size);
  } else if (field.wire == kFixed32 || field.wire == kFixed64) {
    size = field.wire == kFixed32 ? 4 : 8;
    if (rest.size() < size) return std::nullopt;
  } else {
    return std::nullopt;
  }
  rest.remove_prefix(size);
  field.whole = message->substr(0, message->size() - rest.size());
  *message = rest;
  return field;
}

// Lives for one file. Each function appends a message without what is lifted out of it; false:
// it is none.
class Lifter {
 public:
  explicit Lifter(std::string_view file) : file_(file) {}

  bool model(std::string_view message, std::string* out) const {
    return copy(message, out, kGraphOfModel, &Lifter::graph);
  }

 private:
  using Part = bool (Lifter::*)(std::string_view, std::string*) const;

  // All fields as they are, but for `changed`, which goes through `part`.
  bool copy(std::string_view message, std::string* out, uint32_t changed, Part part) const {
    while (!message.empty()) {
      std::optional<Field> field = take_field(&message);
      if (!field) return false;
      if (field->number != changed || field->wire != kBytes) {
        out->append(field->whole);
        continue;
      }
      std::string inner;
      if (!(this->*part)(field->payload, &inner)) return false;
      put_bytes(changed, inner, out);
    }
    return true;
  }

  bool graph(std::string_view message, std::string* out) const {
    return copy(message, out, kInitializerOfGraph, &Lifter::tensor);
  }

  bool tensor(std::string_view message, std::string* out) const {
    while (!message.empty()) {
      std::optional<Field> field = take_field(&message);
      if (!field) return false;
      bool is_raw = field->number == kRawData && field->wire == kBytes;
      if (!is_raw || field->payload.size() < kMinLifted) {
        out->append(field->whole);
        continue;
      }
      put_number(kLiftedOffset, static_cast<uint64_t>(field->payload.data() - file_.data()), out);
      put_number(kLiftedSize, field->payload.size(), out);
    }
    return true;
  }

  std::string_view file_;
};

}  // namespace

Result<std::string> lift_weights(std::string_view bytes, const std::string& path) {
  std::string rest;
  if (Lifter(bytes).model(bytes, &rest)) return rest;
  return Error{ErrorCode::kBadInput,
               "The file is no ONNX model, or it is cut short: its bytes are no protobuf message.",
               path};
}

}  // namespace tuff::onnx
