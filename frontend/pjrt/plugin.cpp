// GetPjrtApi, and the plugin's own attributes.
#include <array>
#include <utility>

#include "frontend/pjrt/abi/abi_client.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/trace.h"

namespace tuff::pjrt {

namespace {

constexpr const char* kSlotNames[] = {
#define TUFF_PJRT_SLOT(name) "PJRT_" #name,
#include "frontend/pjrt/abi/slots.def"
#undef TUFF_PJRT_SLOT
};

template <int slot>
ErrorHandle* unimplemented(void*) noexcept {
  return make_error(
      {ErrorCode::kUnsupported, "tuff does not implement this function.", kSlotNames[slot]});
}

template <int... slots>
void fill_unimplemented(Api& api, std::integer_sequence<int, slots...>) {
  ((api.slots[slots] = &unimplemented<slots>), ...);
}

Status plugin_initialize(Plugin_Initialize_Args&) { return {}; }

// Callers translate their programs down to this version of StableHLO.
Status plugin_attributes(Plugin_Attributes_Args& args) {
  static constexpr int64_t kCurrent[] = {1, 13, 0}, kMinimum[] = {0, 9, 0};
  auto version = [](const char* name, size_t name_size, const int64_t* numbers) {
    NamedValue value{};
    value.struct_size = sizeof(NamedValue);
    value.name = name;
    value.name_size = name_size;
    value.type = NamedValue::kInt64List;
    value.int64_array_value = numbers;
    value.value_size = 3;
    return value;
  };
  static const NamedValue kAttributes[] = {
      version("stablehlo_current_version", 25, kCurrent),
      version("stablehlo_minimum_version", 25, kMinimum),
  };
  args.attributes = kAttributes;
  args.num_attributes = std::size(kAttributes);
  return {};
}

Api make_api() {
  Api api{};
  api.struct_size = sizeof(Api);
  api.extension_start = profiler_extension();
  api.version = {sizeof(ApiVersion), nullptr, kApiMajor, kApiMinor};
  fill_unimplemented(api, std::make_integer_sequence<int, kNumSlots>());
  TUFF_PJRT_SET(api, Plugin_Initialize, plugin_initialize);
  TUFF_PJRT_SET(api, Plugin_Attributes, plugin_attributes);
  add_error_functions(api);
  add_client_functions(api);
  add_device_functions(api);
  add_executable_functions(api);
  add_execute_functions(api);
  add_buffer_functions(api);
  add_transfer_functions(api);
  return api;
}

}  // namespace

}  // namespace tuff::pjrt

extern "C" __attribute__((visibility("default"))) const tuff::pjrt::Api* GetPjrtApi() {
  static const tuff::pjrt::Api api = tuff::pjrt::make_api();
  return &api;
}
