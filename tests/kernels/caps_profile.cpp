#include "tests/kernels/caps_profile.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <variant>

namespace tuff::test {

namespace {

constexpr const char* kFolder = TUFF_TEST_DATA "/kernels/profiles";

struct Field {
  const char* name;
  std::variant<bool Caps::*, int64_t Caps::*> member;
};
constexpr Field kFields[] = {
    {"storage_8bit", &Caps::storage_8bit},
    {"storage_16bit", &Caps::storage_16bit},
    {"int64", &Caps::int64},
    {"float64", &Caps::float64},
    {"native_division", &Caps::native_division},
    {"fused_multiply_add", &Caps::fused_multiply_add},
    {"native_f16_widen", &Caps::native_f16_widen},
    {"native_f16_narrow", &Caps::native_f16_narrow},
    {"subgroup_size", &Caps::subgroup_size},
    {"subgroup_shuffle", &Caps::subgroup_shuffle},
    {"asks_subgroup_size", &Caps::asks_subgroup_size},
    {"cores", &Caps::cores},
    {"lane_registers", &Caps::lane_registers},
    {"max_group_invocations", &Caps::max_group_invocations},
    {"max_shared_bytes", &Caps::max_shared_bytes},
    {"max_storage_buffers", &Caps::max_storage_buffers},
    {"max_storage_buffer_range", &Caps::max_storage_buffer_range},
    {"min_storage_offset_alignment", &Caps::min_storage_offset_alignment},
    {"max_loop_iterations", &Caps::max_loop_iterations},
};

constexpr std::pair<const char*, DeviceClass> kClasses[] = {
    {"software", DeviceClass::kSoftwareRasteriser},
    {"integrated", DeviceClass::kIntegratedGpu},
    {"discrete", DeviceClass::kDiscreteGpu},
};

bool read_matrix_shape(std::istream& value, Caps& caps) {
  MatrixShape shape;
  std::string element, sum;
  if (!(value >> shape.m >> shape.n >> shape.k >> element >> sum)) return false;
  Result<DType> of_elements = parse_dtype(element), of_sums = parse_dtype(sum);
  if (!of_elements.ok() || !of_sums.ok()) return false;
  shape.element = *of_elements, shape.sum = *of_sums;
  caps.matrix_shapes.push_back(shape);
  return true;
}

bool read_field(const std::string& name, std::istream& value, Caps& caps) {
  if (name == "matrix_shape") return read_matrix_shape(value, caps);
  if (name == "device_class") {
    std::string text;
    value >> text;
    for (auto [known, device_class] : kClasses) {
      if (text != known) continue;
      caps.device_class = device_class;
      return true;
    }
    return false;
  }
  auto field = std::find_if(std::begin(kFields), std::end(kFields),
                            [&](const Field& f) { return name == f.name; });
  if (field == std::end(kFields)) return false;
  return std::visit([&](auto member) { return bool(value >> std::boolalpha >> caps.*member); },
                    field->member);
}

}  // namespace

std::vector<std::string> caps_profiles() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".caps") names.push_back(entry.path().stem());
  std::sort(names.begin(), names.end());
  return names;
}

Result<Caps> read_caps_profile(const std::string& name) {
  std::string path = std::string(kFolder) + "/" + name + ".caps";
  std::ifstream file(path);
  if (!file) return Error{ErrorCode::kBadInput, "There is no such profile.", path};
  Caps caps;
  caps.name = name;
  int number = 0;
  for (std::string line; std::getline(file, line);) {
    ++number;
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    std::string field, equals;
    if (!(words >> field >> equals) || equals != "=" || !read_field(field, words, caps))
      return Error{ErrorCode::kBadInput, "The line is not 'field = value' (" + line + ").",
                   path + ":" + std::to_string(number)};
  }
  return caps;
}

}  // namespace tuff::test
