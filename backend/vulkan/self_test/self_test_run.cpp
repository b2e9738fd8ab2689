#include "backend/vulkan/self_test/self_test_run.h"

#include "backend/compile.h"
#include "backend/executable.h"
#include "ir/text/parse.h"

namespace tuff {

namespace {

// The device as a probe has it: with other caps, and pipelines of its own.
class TrialDevice final : public Device {
 public:
  TrialDevice(VulkanDevice& device, PipelineStore& pipelines, const Caps& caps)
      : device_(device), pipelines_(pipelines), caps_(caps) {}

  const Caps& caps() const override { return caps_; }
  std::string description() const override { return device_.description(); }
  Result<BufferPtr> allocate(int64_t size_bytes) override { return device_.allocate(size_bytes); }
  Status write(Buffer& buffer, int64_t offset_bytes, std::span<const std::byte> data) override {
    return device_.write(buffer, offset_bytes, data);
  }
  Status read(const Buffer& buffer, int64_t offset_bytes, std::span<std::byte> data) override {
    return device_.read(buffer, offset_bytes, data);
  }
  Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program> program,
                                              const LoadOptions& options) override {
    std::vector<GlslShader> shaders;
    for (const Kernel& kernel : program->kernels) {
      TUFF_ASSIGN(GlslShader shader, emit_glsl(kernel, caps_));
      shaders.push_back(std::move(shader));
    }
    ProgramServices own = device_.services();
    ProgramServices services{own.context, own.memory, own.transfer, pipelines_};
    TUFF_ASSIGN(auto loaded, VulkanProgram::create(services, std::move(program), shaders, options));
    return std::unique_ptr<LoadedProgram>(std::move(loaded));
  }
  Status run(LoadedProgram& program, std::span<const BufferPtr> arguments,
             std::span<const BufferPtr> outputs, RunStats* stats) override {
    return device_.run(program, arguments, outputs, stats);
  }

 private:
  VulkanDevice& device_;
  PipelineStore& pipelines_;
  const Caps& caps_;
};

Result<std::vector<Literal>> solve(Device& device, const Probe& probe) {
  TUFF_ASSIGN(Graph graph, parse_graph(probe.graph, "<self-test>"));
  CompileOptions options;
  options.disabled = probe.without;
  TUFF_ASSIGN(auto program, compile(graph, probe.caps, options, nullptr));
  TUFF_ASSIGN(Executable executable, Executable::create(device, std::move(program), {}));
  return executable(probe.arguments);
}

// Devices that lack what a kernel needs say so then; that is no wrong result. What a driver
// refuses once, and not again, says nothing of the device, and verdicts stay on disk.
Result<std::string> run_probe(Device& device, const Probe& probe) {
  constexpr int kTries = 2;
  std::string refusal;
  for (int i = 0; i < kTries; ++i) {
    Result<std::vector<Literal>> got = solve(device, probe);
    if (got.ok()) return difference(probe, *got);
    switch (got.error().code) {
      case ErrorCode::kUnsupported: return std::string();
      case ErrorCode::kDeviceLost:
      case ErrorCode::kOutOfMemory: return got.take_error();
      default: refusal = got.error().message;
    }
  }
  return refusal;
}

}  // namespace

Result<SelfTestVerdict> run_self_test(VulkanDevice& device, const Caps& claimed) {
  TUFF_ASSIGN(auto pipelines, PipelineStore::create(device.context(), nullptr));
  Caps caps = claimed;
  caps.host = nullptr;  // what it would run says nothing about the device
  return judge_device(caps, [&](const Probe& probe) {
    TrialDevice trial(device, *pipelines, probe.caps);
    return run_probe(trial, probe);
  });
}

}  // namespace tuff
