#include "backend/verify/validate_device.h"

#include <fmt/format.h>

#include <algorithm>

#include "backend/verify/asked.h"
#include "backend/verify/verify_program.h"
#include "ir/support/hash.h"
#include "shaders/storage.h"

namespace tuff {

namespace {

using Buffers = std::span<const BufferPtr>;

Error invalid_run(const std::string& message) {
  return {ErrorCode::kRunFailed, "The run is not valid: " + message, ""};
}

class ValidatedProgram final : public LoadedProgram {
 public:
  ValidatedProgram(std::unique_ptr<LoadedProgram> loaded, std::shared_ptr<const Program> program)
      : loaded_(std::move(loaded)), program_(std::move(program)) {}

  const LoadStats& stats() const override { return loaded_->stats(); }
  LoadedProgram& loaded() { return *loaded_; }
  const Program& program() const { return *program_; }

 private:
  std::unique_ptr<LoadedProgram> loaded_;
  std::shared_ptr<const Program> program_;
};

class ValidatingDevice final : public Device {
 public:
  explicit ValidatingDevice(std::unique_ptr<Device> device) : device_(std::move(device)) {}

  Device& watched() { return *device_; }
  const Caps& caps() const override { return device_->caps(); }
  std::string description() const override { return device_->description(); }
  Result<BufferPtr> allocate(int64_t size_bytes) override { return device_->allocate(size_bytes); }
  Status write(Buffer& buffer, int64_t offset_bytes, std::span<const std::byte> data) override {
    return device_->write(buffer, offset_bytes, data);
  }
  Status read(const Buffer& buffer, int64_t offset_bytes, std::span<std::byte> data) override {
    return device_->read(buffer, offset_bytes, data);
  }

  Result<BufferPtr> wrap(std::span<const std::byte> data,
                         std::shared_ptr<const void> owner) override {
    return device_->wrap(data, std::move(owner));
  }
  Result<PackedList> plan_packing(const Program& program) override {
    return device_->plan_packing(program);
  }
  Result<KernelCode> kernel_code(const Program& program) override {
    return device_->kernel_code(program);
  }

  Result<std::unique_ptr<LoadedProgram>> load(std::shared_ptr<const Program> program,
                                              const LoadOptions& options) override {
    TUFF_RETURN_IF_ERROR(verify_program(*program, caps()));
    TUFF_ASSIGN(std::unique_ptr<LoadedProgram> loaded, device_->load(program, options));
    return std::unique_ptr<LoadedProgram>(
        std::make_unique<ValidatedProgram>(std::move(loaded), std::move(program)));
  }

  Status run(LoadedProgram& program, Buffers arguments, Buffers outputs, RunStats* stats) override {
    auto* validated = dynamic_cast<ValidatedProgram*>(&program);
    if (validated == nullptr) return invalid_run("the program was loaded on another device.");
    const Program& p = validated->program();
    TUFF_RETURN_IF_ERROR(check_sizes(arguments, p.arguments, "argument"));
    TUFF_RETURN_IF_ERROR(check_sizes(outputs, p.outputs, "output"));
    TUFF_RETURN_IF_ERROR(check_apart(p, arguments, outputs));
    TUFF_ASSIGN(std::vector<uint64_t> before, hash_kept(arguments, outputs));
    for (const BufferPtr& output : outputs)
      if (!contains(arguments, output)) TUFF_RETURN_IF_ERROR(fill(output));
    TUFF_RETURN_IF_ERROR(device_->run(validated->loaded(), arguments, outputs, stats));
    TUFF_ASSIGN(std::vector<uint64_t> after, hash_kept(arguments, outputs));
    for (size_t i = 0; i < arguments.size(); ++i)
      if (after[i] != before[i])
        return invalid_run(fmt::format("argument {} ({}) is not what it was before, a bug in tuff.",
                                       i, p.argument_names[i]));
    return {};
  }

 private:
  static int64_t size_of(const BufferPtr& buffer) { return buffer ? buffer->size_bytes() : 0; }

  Status check_sizes(Buffers buffers, const std::vector<TensorType>& types,
                     const char* what) const {
    if (buffers.size() != types.size())
      return invalid_run(fmt::format("the program has {} {}s, and {} are given.", types.size(),
                                     what, buffers.size()));
    for (size_t i = 0; i < types.size(); ++i) {
      int64_t size = types[i].num_elements() * storage_size(types[i].dtype, caps());
      if (size_of(buffers[i]) != size)
        return invalid_run(fmt::format("{} {} needs {} bytes and is given {}.", what, i, size,
                                       size_of(buffers[i])));
    }
    return {};
  }

  static Status check_apart(const Program& program, Buffers arguments, Buffers outputs) {
    auto donated = [&](size_t argument, size_t output) {
      return std::any_of(
          program.donations.begin(), program.donations.end(), [&](const Donation& donation) {
            return donation.in_place && donation.argument == argument && donation.output == output;
          });
    };
    for (size_t o = 0; o < outputs.size(); ++o) {
      if (size_of(outputs[o]) == 0) continue;
      for (size_t other = 0; other < o; ++other)
        if (outputs[other] == outputs[o])
          return invalid_run(fmt::format("outputs {} and {} are one buffer.", other, o));
      for (size_t a = 0; a < arguments.size(); ++a)
        if (arguments[a] == outputs[o] && !donated(a, o))
          return invalid_run(fmt::format(
              "argument {} and output {} are one buffer, which the program does not allow.", a, o));
    }
    return {};
  }

  static bool contains(Buffers buffers, const BufferPtr& one) {
    return std::find(buffers.begin(), buffers.end(), one) != buffers.end();
  }

  // By argument; 0 for those that are outputs, too.
  Result<std::vector<uint64_t>> hash_kept(Buffers arguments, Buffers outputs) {
    std::vector<uint64_t> hashes(arguments.size());
    for (size_t i = 0; i < arguments.size(); ++i) {
      if (size_of(arguments[i]) == 0 || contains(outputs, arguments[i])) continue;
      std::vector<std::byte> bytes(static_cast<size_t>(size_of(arguments[i])));
      TUFF_RETURN_IF_ERROR(device_->read(*arguments[i], 0, bytes));
      hashes[i] = hash_bytes(bytes.data(), bytes.size());
    }
    return hashes;
  }

  Status fill(const BufferPtr& buffer) {
    if (size_of(buffer) == 0) return {};
    std::vector<std::byte> ones(static_cast<size_t>(buffer->size_bytes()), std::byte{0xff});
    return device_->write(*buffer, 0, ones);
  }

  std::unique_ptr<Device> device_;
};

}  // namespace

std::unique_ptr<Device> validate_device(std::unique_ptr<Device> device) {
  return std::make_unique<ValidatingDevice>(std::move(device));
}

std::unique_ptr<Device> validate_device_if_asked(std::unique_ptr<Device> device) {
  return verification_asked() ? validate_device(std::move(device)) : std::move(device);
}

Device& watched_device(Device& device) {
  auto* validating = dynamic_cast<ValidatingDevice*>(&device);
  return validating ? validating->watched() : device;
}

}  // namespace tuff
