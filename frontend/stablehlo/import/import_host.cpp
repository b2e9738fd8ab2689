// What the host does as it stands: functions of the program's caller, and LAPACK's by the targets
// that JAX has for them, which it keeps from version to version ("lapack_sgeqrf_ffi").
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

OpResult add_host_call(OpContext& context, HostCallAttrs call) {
  Node node;
  node.op = Op::kHostCall;
  node.operands = context.operands;
  node.types = context.types;
  node.attrs = std::move(call);
  return context.add_checked(std::move(node));
}

const DictAttr* config_of(const OpContext& context) {
  const DictAttr* config = dict_attribute(context, "backend_config");
  return config ? config : dict_attribute(context, "mhlo.backend_config");
}

// Of the lowering in frontend/python/jax_plugins/tuff/callbacks.py.
OpResult import_callback(OpContext& context) {
  if (context.importer.spread())
    return context.unsupported("Callbacks of programs over several devices are not supported.");
  std::optional<int64_t> number = dict_int(config_of(context), "callback");
  if (!number) return context.bad("The callback has no number.");
  HostCallAttrs call{HostFunction::kCallback};
  call.callback = *number;
  call.has_side_effect = context.int_attribute("has_side_effect") != 0;
  return add_host_call(context, std::move(call));
}

bool config_flag(const DictAttr* config, std::string_view name) {
  const Attribute* entry = config ? find_attribute(config->entries, name) : nullptr;
  const bool* value = entry ? std::get_if<bool>(&entry->value) : nullptr;
  return value && *value;
}

// LAPACK's letters are numbers there.
std::string letter(const DictAttr* config, std::string_view name) {
  std::optional<int64_t> code = dict_int(config, name);
  return code ? std::string(1, static_cast<char>(*code)) : "";
}

constexpr std::string_view kLapackPrefix = "lapack_", kLapackSuffix = "_ffi";

// The name without its type: the operands say which that is.
std::optional<HostFunction> lapack_function(std::string_view target) {
  if (!target.starts_with(kLapackPrefix) || !target.ends_with(kLapackSuffix)) return std::nullopt;
  target.remove_prefix(kLapackPrefix.size());
  target.remove_suffix(kLapackSuffix.size());
  if (!target.starts_with("s") && !target.starts_with("d")) return std::nullopt;
  return parse_word<HostFunction>(target.substr(1));
}

OpResult import_lapack(OpContext& context) {
  HostCallAttrs call{*lapack_function(context.text_attribute("call_target_name"))};
  const DictAttr* config = config_of(context);
  if (letter(config, "sort") == "S")
    return context.unsupported("A Schur form with sorted eigenvalues is not supported.");
  call.mode = letter(config, "mode");
  call.uplo = letter(config, "uplo");
  call.left = config_flag(config, "left");
  call.transpose = config_flag(config, "transpose");
  return add_host_call(context, std::move(call));
}

}  // namespace

Handler find_host_handler(std::string_view target) {
  if (target == "tuff_callback") return import_callback;
  return lapack_function(target) ? import_lapack : nullptr;
}

}  // namespace tuff::stablehlo
