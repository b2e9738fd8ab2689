// Storage: a tensor's memory on a device, from the moment a run promises it.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backend/device.h"
#include "frontend/session/completion.h"

namespace tuff {

// `memory` is set before `ready` completes well, and stays; null where it does not.
struct Storage {
  BufferPtr memory;
  CompletionPtr ready;
  bool borrowed = false;  // the memory is the caller's and is never written to
};
using StoragePtr = std::shared_ptr<Storage>;

// Memory that is there already.
StoragePtr stored(BufferPtr memory, bool borrowed);

// By output: the memory of a donated argument that it can take, or null. Memory that anybody but
// `arguments` has a share in is not taken.
std::vector<BufferPtr> donated_memory(const Program& program, std::span<const StoragePtr> arguments,
                                      const std::vector<bool>& donated);

}  // namespace tuff
