#include "backend/vulkan/pipelines/compiler.h"

#include <fmt/format.h>
#include <shaderc/shaderc.h>

#include <cstring>
#include <memory>
#include <mutex>
#include <new>
#include <shared_mutex>
#include <spirv-tools/libspirv.hpp>

#include "backend/vulkan/pipelines/spirv_matrix.h"

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/lsan_interface.h>
#endif

// The lock that glslang keeps while it makes tables. It is recursive: to release what this thread
// does not hold does nothing. Versions that release it themselves, and libraries that hide it, do
// not have the name.
namespace glslang {
[[gnu::weak]] void ReleaseGlobalLock();
}

namespace tuff {

namespace {

// Around calls of glslang and SPIRV-Tools. Where memory ends within them they keep what they had
// taken: they own by plain pointers. So LeakSanitizer does not look for what they take; it sees
// too little of their stacks to know them by.
struct InLibrary {
#if defined(__SANITIZE_ADDRESS__)
  InLibrary() { __lsan_disable(); }
  ~InLibrary() { __lsan_enable(); }
#else
  InLibrary() {}
#endif
};

// Vulkan 1.1 has all our kernels need and runs on every device we take.
constexpr const char* kTargetName = "vulkan1.1 spirv1.3 level-zero";

// What shaderc gives; null where it had no memory.
template <auto release>
struct Release {
  template <typename T>
  void operator()(T* made) const {
    release(made);
  }
};
using Compiler = std::unique_ptr<shaderc_compiler, Release<shaderc_compiler_release>>;
using Options = std::unique_ptr<shaderc_compile_options, Release<shaderc_compile_options_release>>;
using Compiled = std::unique_ptr<shaderc_compilation_result, Release<shaderc_result_release>>;

Options make_options() {
  InLibrary in_library;
  Options options(shaderc_compile_options_initialize());
  if (!options) return options;
  shaderc_compile_options_set_target_env(options.get(), shaderc_target_env_vulkan,
                                         shaderc_env_version_vulkan_1_1);
  shaderc_compile_options_set_target_spirv(options.get(), shaderc_spirv_version_1_3);
  shaderc_compile_options_set_optimization_level(options.get(), shaderc_optimization_level_zero);
  return options;
}

// What glslang makes for the process as it starts takes less.
constexpr size_t kSetUpBytes = size_t{16} << 20;

// Makes glslang build its tables for kernels: they depend on the version and the stage only.
constexpr const char* kFirstText = "#version 450\nlayout(local_size_x = 1) in;\nvoid main() {}\n";

Error no_memory() {
  return {ErrorCode::kOutOfMemory, "The host has not enough memory to compile a kernel.", ""};
}

// The process's glslang. It keeps tables of the language, made as it starts and with the first
// text, and leaves them half made where memory ends meanwhile: then it refuses good texts. So
// a refusal counts only when a glslang that is started anew repeats it. Up to version 12 it also
// leaves its lock taken then, which would stop all other threads. So one thread makes the tables
// while nobody else compiles.
class Glslang {
 public:
  // Errors: kOutOfMemory. Otherwise what shaderc says of the text; not null.
  Result<Compiled> compile(const std::string& text) {
    {
      std::shared_lock others_compile(mutex_);
      while (!compiler_) {
        others_compile.unlock();
        TUFF_RETURN_IF_ERROR(start());
        others_compile.lock();
      }
      Compiled result = attempt(text);
      if (succeeded(result)) return result;
    }
    std::unique_lock alone(mutex_);
    compiler_.reset();  // the tables go with the last compiler
    TUFF_RETURN_IF_ERROR(start_alone());
    Compiled result = attempt(text);
    // Other than by a wrong text it ends by an exception only.
    if (!succeeded(result) && status_of(result) != shaderc_compilation_status_compilation_error)
      return no_memory();
    return result;
  }

 private:
  static shaderc_compilation_status status_of(const Compiled& result) {
    return result ? shaderc_result_get_compilation_status(result.get())
                  : shaderc_compilation_status_null_result_object;
  }
  static bool succeeded(const Compiled& result) {
    return status_of(result) == shaderc_compilation_status_success;
  }

  Status start() {
    std::unique_lock alone(mutex_);
    return start_alone();
  }

  // A start that is cut short cannot be taken back, and the next one crashes. So it begins
  // only where there is memory for it.
  Status start_alone() {
    if (compiler_) return {};
    if (cut_short_)
      return Error{ErrorCode::kOutOfMemory,
                   "The host had not enough memory to start the compiler of kernels; start the "
                   "process again.",
                   ""};
    std::unique_ptr<std::byte[]> room(new (std::nothrow) std::byte[kSetUpBytes]);
    options_ = make_options();
    if (!room || !options_) return no_memory();
    room.reset();
    cut_short_ = true;
    InLibrary in_library;
    compiler_.reset(shaderc_compiler_initialize());
    cut_short_ = false;
    if (!compiler_) return no_memory();
    if (succeeded(attempt(kFirstText))) return {};
    if (glslang::ReleaseGlobalLock) glslang::ReleaseGlobalLock();
    compiler_.reset();
    return no_memory();
  }

  Compiled attempt(const std::string& text) const {
    InLibrary in_library;
    return Compiled(shaderc_compile_into_spv(compiler_.get(), text.data(), text.size(),
                                             shaderc_compute_shader, "kernel", "main",
                                             options_.get()));
  }

  std::shared_mutex mutex_;  // exclusive: the compiler is made or dropped
  Compiler compiler_;
  Options options_;
  bool cut_short_ = false;
};

}  // namespace

Result<std::vector<uint32_t>> compile_glsl(const std::string& text) {
  static Glslang glslang;
  TUFF_ASSIGN(Compiled result, glslang.compile(text));
  if (shaderc_result_get_compilation_status(result.get()) != shaderc_compilation_status_success)
    return Error{ErrorCode::kRunFailed,
                 fmt::format("A kernel's GLSL does not compile, which is a bug in tuff: {}",
                             shaderc_result_get_error_message(result.get())),
                 ""};
  std::vector<uint32_t> words(shaderc_result_get_length(result.get()) / sizeof(uint32_t));
  std::memcpy(words.data(), shaderc_result_get_bytes(result.get()),
              words.size() * sizeof(uint32_t));
  TUFF_RETURN_IF_ERROR(set_matrix_components(words));
  return words;
}

namespace {

// Validators older than the extension refuse all of it.
bool knows_matrices(const spvtools::SpirvTools& tools) {
  static const bool knows = [&] {
    std::vector<uint32_t> words;
    return tools.Assemble("OpCapability CooperativeMatrixKHR", &words);
  }();
  return knows;
}

}  // namespace

Status validate_spirv(std::span<const uint32_t> words) {
  InLibrary in_library;
  spvtools::SpirvTools tools(SPV_ENV_VULKAN_1_1);
  std::string messages;
  tools.SetMessageConsumer(
      [&](spv_message_level_t, const char*, const spv_position_t& position, const char* message) {
        messages += fmt::format("word {}: {}; ", position.index, message);
      });
  if (!tools.IsValid()) return no_memory();
  if (has_matrices(words) && !knows_matrices(tools)) return {};
  if (tools.Validate(words.data(), words.size())) return {};
  return Error{ErrorCode::kRunFailed, fmt::format("A kernel's SPIR-V is not valid: {}", messages),
               ""};
}

std::string spirv_cache_key(const std::string& text) {
  return fmt::format("tuff {}\nshaderc {}\n{}\n{}\n{}", TUFF_VERSION, TUFF_SHADERC_VERSION,
                     spvSoftwareVersionDetailsString(), kTargetName, text);
}

}  // namespace tuff
