#include "shaders/emit/emit_glsl.h"

#include <fmt/format.h>

#include "shaders/emit/emit_glsl_body.h"
#include "shaders/emit/emit_glsl_matrix.h"
#include "shaders/kernel/kernel_walk.h"
#include "shaders/prelude/prelude_text.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

// Element types a kernel touches anywhere.
std::set<DType> used_types(const Kernel& kernel) {
  std::set<DType> types;
  for (const BufferDecl& buffer : kernel.buffers) types.insert(buffer.dtype);
  for (const ArrayDecl& array : kernel.arrays) types.insert(array.dtype);
  for_each_stmt(kernel.body, [&](const Stmt& stmt) {
    if (is_let(stmt.kind)) types.insert(stmt.dtype);
    for (const Operand& operand : stmt.operands) types.insert(operand.dtype);
  });
  return types;
}

Error no_arithmetic(const Caps& caps, const char* what) {
  return {ErrorCode::kUnsupported,
          fmt::format("The device ({}) has no arithmetic for {}; run this on the CPU.", caps.name,
                      what),
          ""};
}

// 64-bit types that the kernel touches; the prelude takes doubles apart as integers.
Result<PreludeOptions> wide_types(const Kernel& kernel, const Caps& caps, const GlslNeeds& needs) {
  std::set<DType> types = used_types(kernel);
  PreludeOptions wide;
  wide.float64 = types.contains(DType::kF64);
  bool any = needs.int64 || types.contains(DType::kI64) || types.contains(DType::kU64) ||
             (wide.float64 && !needs.prelude.empty());
  wide.int64 = any && !has_pairs(caps);
  wide.pairs = any && has_pairs(caps);
  if (wide.float64 && !caps.float64) return no_arithmetic(caps, "f64");
  return wide;
}

std::string extensions(const Kernel& kernel, const Caps& caps, bool int64,
                       const std::string& prelude, const GlslNeeds& needs) {
  std::set<std::string> names;
  if (needs.unroll) names.insert("GL_EXT_control_flow_attributes");
  if (needs.shuffle) {
    names.insert("GL_KHR_shader_subgroup_basic");
    names.insert("GL_KHR_shader_subgroup_shuffle");
  }
  for (const BufferDecl& buffer : kernel.buffers) {
    int64_t size = storage_size(buffer.dtype, caps) * buffer.per_word;
    if (size == 1) names.insert("GL_EXT_shader_8bit_storage");
    if (size == 2) names.insert("GL_EXT_shader_16bit_storage");
    if (buffer.by_address) {
      names.insert("GL_EXT_buffer_reference");
      names.insert("GL_EXT_buffer_reference_uvec2");
    }
  }
  if (kernel.matrices) {
    names.insert("GL_EXT_spirv_intrinsics");
    names.insert("GL_KHR_shader_subgroup_basic");
  }
  if (int64) names.insert("GL_EXT_shader_explicit_arithmetic_types_int64");
  if (prelude.find("float16_t") != std::string::npos)
    names.insert("GL_EXT_shader_explicit_arithmetic_types_float16");
  std::string text = "#version 450\n";
  for (const std::string& name : names) text += "#extension " + name + " : require\n";
  return text;
}

const char* access_text(Access access) {
  if (access == Access::kRead) return "readonly ";
  return access == Access::kWrite ? "writeonly " : "";
}

// Buffers are not `restrict`: two of them may be one range (updates in place).
std::string declare_buffers(const Kernel& kernel, const Caps& caps, const GlslNeeds& needs,
                            GlslShader& shader) {
  std::string text;
  for (uint32_t i = 0; i < kernel.buffers.size(); ++i) {
    const BufferDecl& buffer = kernel.buffers[i];
    std::string layout =
        buffer.by_address
            ? fmt::format("buffer_reference, std430, buffer_reference_align = {}",
                          std::max<int64_t>(4, storage_size(buffer.dtype, caps) * buffer.per_word))
            : fmt::format("set = 0, binding = {}, std430", shader.num_descriptors++);
    text += fmt::format(
        "layout({}) {}{}buffer Buffer{} {{ {} d[]; }}{};\n", layout,
        needs.coherent.contains(i) || buffer.aliased ? "coherent " : "",
        buffer.aliased ? "" : access_text(buffer.access), i,
        buffer.per_word > 1 ? glsl_word_type(buffer, caps) : glsl_storage_type(buffer.dtype, caps),
        buffer.by_address ? "" : fmt::format(" b{}", i));
    shader.num_addresses += buffer.by_address ? 1 : 0;
  }
  return text;
}

std::string declare_push_constants(const Kernel& kernel, GlslShader& shader) {
  std::string text = "layout(push_constant) uniform Params {\n";
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    if (kernel.buffers[i].by_address) text += fmt::format("  uvec2 b{};\n", i);
  text += "  uint groups;\n";
  for (uint32_t i = 0; i < kernel.num_params; ++i) text += fmt::format("  int p{};\n", i);
  shader.push_constant_bytes = 8 * shader.num_addresses + 4 + 4 * kernel.num_params;
  return text + "} pc;\n";
}

std::string declare_shared(const Kernel& kernel, const Caps& caps, const GlslBody& body) {
  std::string text;
  for (uint32_t i = 0; i < kernel.arrays.size(); ++i) {
    const ArrayDecl& array = kernel.arrays[i];
    if (array.scope == Scope::kShared && !body.shuffles().arrays.contains(i))
      text += fmt::format("shared {} s{}[{}];\n", glsl_type(array.dtype, caps), i, array.count);
  }
  for (const auto& [type, count] : body.scratch())
    for (int i = 0; i < count; ++i)
      text += fmt::format("shared {0} scratch_{0}{1}[{2}];\n", type, i, body.scratch_lanes());
  return text;
}

std::string main_text(const Kernel& kernel, const GlslBody& body) {
  std::string text =
      "void main() {\n"
      "  uint group = gl_WorkGroupID.x + gl_WorkGroupID.y * gl_NumWorkGroups.x;\n"
      "  if (group >= pc.groups) return;\n";
  if (body.needs().lane) text += "  int lane = int(gl_LocalInvocationID.x);\n";
  for (size_t i = 0; i < kernel.buffers.size(); ++i)
    if (kernel.buffers[i].by_address)
      text += fmt::format("  Buffer{0} b{0} = Buffer{0}(pc.b{0});\n", i);
  return text + body.text() + "}\n";
}

}  // namespace

Result<GlslShader> emit_glsl(const Kernel& kernel, const Caps& caps) {
  GlslBody body(kernel, caps);
  TUFF_RETURN_IF_ERROR(body.print());
  const GlslNeeds& needs = body.needs();
  TUFF_ASSIGN(PreludeOptions prelude_options, wide_types(kernel, caps, needs));
  prelude_options.native_division = caps.native_division;
  prelude_options.fused_multiply_add = caps.fused_multiply_add;
  prelude_options.native_f16_widen = caps.native_f16_widen;
  prelude_options.native_f16_narrow = caps.native_f16_narrow;

  GlslShader shader;
  std::string buffers = declare_buffers(kernel, caps, needs, shader);
  std::string params = declare_push_constants(kernel, shader);
  if (shader.push_constant_bytes > caps.max_push_constant_bytes)
    return Error{
        ErrorCode::kUnsupported,
        fmt::format("A kernel of family {} takes {} bytes of push constants, more than "
                    "the device has (maxPushConstantsSize = {}).",
                    kernel.family, shader.push_constant_bytes, caps.max_push_constant_bytes),
        ""};
  std::string prelude = prelude_functions(needs.prelude, prelude_options);
  if (!prelude.empty()) prelude = "// prelude\n" + prelude;
  shader.text = extensions(kernel, caps, prelude_options.int64, prelude, needs) +
                fmt::format("layout(local_size_x = {}) in;\n", kernel.lanes) + buffers + params +
                declare_shared(kernel, caps, body) +
                (kernel.matrices ? glsl_matrix_declarations(*kernel.matrices) : "") + prelude +
                main_text(kernel, body);
  if (kernel.matrices) shader.subgroup_size = static_cast<uint32_t>(kernel.matrices->subgroup);
  if (needs.shuffle && caps.asks_subgroup_size)
    shader.subgroup_size = static_cast<uint32_t>(caps.subgroup_size);
  return shader;
}

}  // namespace tuff
