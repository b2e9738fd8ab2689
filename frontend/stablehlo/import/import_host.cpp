// What the host does as it stands: functions of the program's caller, and LAPACK's by the targets
// that JAX has for them, which it keeps from version to version ("lapack_sgeqrf_ffi").
#include <fmt/format.h>

#include "frontend/stablehlo/import/import.h"

namespace tuff::stablehlo {

namespace {

OpResult add_host_call(OpContext& context, Values operands, std::vector<TensorType> types,
                       HostCallAttrs call) {
  Node node;
  node.op = Op::kHostCall;
  node.operands = std::move(operands);
  node.types = std::move(types);
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
    return context.unsupported(
        "Callbacks of programs over several devices are not supported; call them in a program on "
        "one "
        "device, or outside of jax.jit.");
  std::optional<int64_t> number = dict_int(config_of(context), "callback");
  if (!number) return context.bad("The callback has no number.");
  HostCallAttrs call{HostFunction::kCallback};
  call.callback = *number;
  call.has_side_effect = context.int_attribute("has_side_effect") != 0;
  return add_host_call(context, context.operands, context.types, std::move(call));
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

// LAPACK's names for matrices of complex numbers, where they are other ones.
constexpr std::pair<std::string_view, HostFunction> kComplexNames[] = {
    {"ungqr", HostFunction::kOrgqr},
    {"unmqr", HostFunction::kOrmqr},
    {"heevd", HostFunction::kSyevd},
    {"hetrd", HostFunction::kSytrd},
};

// The name's first letter is the type.
std::optional<HostCallAttrs> lapack_function(std::string_view target) {
  if (!target.starts_with(kLapackPrefix) || !target.ends_with(kLapackSuffix)) return std::nullopt;
  target.remove_prefix(kLapackPrefix.size());
  target.remove_suffix(kLapackSuffix.size());
  if (target.empty() || std::string_view("sdcz").find(target[0]) == std::string_view::npos)
    return std::nullopt;
  bool complex = target[0] == 'c' || target[0] == 'z';
  target.remove_prefix(1);
  std::optional<HostFunction> function = parse_word<HostFunction>(target);
  if (complex)
    for (const auto& [name, known] : kComplexNames)
      if (name == target) function = known;
  if (!function) return std::nullopt;
  HostCallAttrs call{*function};
  call.complex = complex;
  return call;
}

// Complex tensors are one value in a call of LAPACK, of both parts.
Values joined_operands(OpContext& context) {
  const std::vector<Type>& declared = context.importer.module().value_types;
  Values operands;
  size_t next = 0;
  for (uint32_t id : context.op.operands) {
    const Value& value = context.operands[next++];
    if (complex_part(declared[id]).empty())
      operands.push_back(value);
    else
      operands.push_back(join_parts(context.graph(), value, context.operands[next++]));
  }
  return operands;
}

OpResult add_lapack_call(OpContext& context, HostCallAttrs call) {
  std::vector<bool> complex;
  for (const Type& type : context.op.types)
    for (bool member : complex_members(type)) complex.push_back(member);
  std::vector<TensorType> types;
  size_t next = 0;
  for (bool member : complex) {
    types.push_back(context.types[next]);
    if (member) types.back().shape.push_back(2);
    next += member ? 2 : 1;
  }
  TUFF_ASSIGN(Values whole,
              add_host_call(context, joined_operands(context), std::move(types), std::move(call)));
  Values results;
  for (size_t i = 0; i < complex.size(); ++i) {
    if (!complex[i]) {
      results.push_back(whole[i]);
      continue;
    }
    for (int64_t part : {0, 1}) results.push_back(part_of(context.graph(), whole[i], part));
  }
  return results;
}

OpResult import_lapack(OpContext& context) {
  HostCallAttrs call = *lapack_function(context.text_attribute("call_target_name"));
  const DictAttr* config = config_of(context);
  if (letter(config, "sort") == "S")
    return context.unsupported("A Schur form with sorted eigenvalues is not supported.");
  bool both_sides = call.function == HostFunction::kGeev;
  call.mode = both_sides ? letter(config, "compute_left") + letter(config, "compute_right")
                         : letter(config, "mode");
  call.uplo = letter(config, "uplo");
  call.left = config_flag(config, "left");
  call.transpose = config_flag(config, "transpose");
  return add_lapack_call(context, std::move(call));
}

}  // namespace

Handler find_host_handler(std::string_view target) {
  if (target == "tuff_callback") return import_callback;
  return lapack_function(target) ? import_lapack : nullptr;
}

}  // namespace tuff::stablehlo
