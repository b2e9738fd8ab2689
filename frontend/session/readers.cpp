// The registry: readers.def as a table, and the signs that its rows are recognised by.
#include <algorithm>
#include <filesystem>

#include "frontend/session/model.h"
#include "frontend/stablehlo/exported.h"

namespace tuff {

#define TUFF_READER(folder, name, sign) \
  namespace folder {                    \
  ReadModel read_model;                 \
  }
#define TUFF_NO_READER(name, sign, advice)
#include "frontend/session/readers.def"
#undef TUFF_READER
#undef TUFF_NO_READER

namespace {

// ModelProto: a small version of the format, then one of its other fields.
bool is_onnx(const ModelBytes& file) {
  constexpr std::string_view kFields = "\x12\x1a\x22\x28\x32\x3a\x42";
  return file.bytes.size() > 2 && file.bytes[0] == '\x08' && file.bytes[1] > 0 &&
         file.bytes[1] < 64 && kFields.find(file.bytes[2]) != std::string_view::npos;
}

constexpr ModelFormat kFormats[] = {
#define TUFF_READER(folder, name, sign) \
  {name, [](const ModelBytes& file) { return sign; }, folder::read_model, nullptr},
#define TUFF_NO_READER(name, sign, advice) \
  {name, [](const ModelBytes& file) { return sign; }, nullptr, advice},
#include "frontend/session/readers.def"
#undef TUFF_READER
#undef TUFF_NO_READER
};

}  // namespace

bool ModelBytes::begins(std::string_view sign, size_t at) const {
  return bytes.size() >= at && bytes.substr(at, sign.size()) == sign;
}

bool ModelBytes::named(std::string_view extension) const {
  return !is_directory && path.ends_with(extension);
}

bool ModelBytes::holds(const char* file) const {
  std::error_code ignored;
  return is_directory && std::filesystem::exists(std::filesystem::path(path) / file, ignored);
}

bool ModelBytes::is_text() const {
  constexpr size_t kLooked = 1024;
  std::string_view start = bytes.substr(0, kLooked);
  return !start.empty() && std::none_of(start.begin(), start.end(), [](unsigned char c) {
    return c < ' ' && c != '\n' && c != '\r' && c != '\t';
  });
}

bool ModelBytes::zips(std::string_view end_of_first_name) const {
  constexpr size_t kLength = 26, kName = 30;  // in the header before the entry
  if (!begins("PK\3\4") || bytes.size() < kName) return false;
  auto byte = [this](size_t at) { return static_cast<unsigned char>(bytes[at]); };
  size_t length = byte(kLength) | static_cast<size_t>(byte(kLength + 1)) << 8;
  return bytes.substr(kName, length).ends_with(end_of_first_name);
}

std::span<const ModelFormat> model_formats() { return kFormats; }

const ModelFormat* recognise(const ModelBytes& file) {
  for (const ModelFormat& format : kFormats)
    if (format.matches(file)) return &format;
  return nullptr;
}

}  // namespace tuff
