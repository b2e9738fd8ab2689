#include "frontend/session/storage.h"

namespace tuff {

namespace {

// True iff nobody but the run has the memory: what it holds may be written over.
bool is_own(const StoragePtr& storage) {
  return storage.use_count() == 1 && storage->memory.use_count() == 1 && !storage->borrowed;
}

}  // namespace

StoragePtr stored(BufferPtr memory, bool borrowed) {
  return std::make_shared<Storage>(Storage{std::move(memory), completed(), borrowed});
}

std::vector<BufferPtr> donated_memory(const Program& program, std::span<const StoragePtr> arguments,
                                      const std::vector<bool>& donated) {
  std::vector<BufferPtr> outputs(program.outputs.size());
  for (const Donation& donation : program.donations)
    if (donation.in_place && donated[donation.argument] && is_own(arguments[donation.argument]))
      outputs[donation.output] = arguments[donation.argument]->memory;
  return outputs;
}

}  // namespace tuff
