#include "backend/cpu/packing_share.h"

#include <unistd.h>

#include <atomic>
#include <string>

namespace tuff::cpu {

namespace {

std::atomic<int64_t> all_bytes = 0;

}  // namespace

bool PackingShare::take(int64_t size_bytes) {
  static const int64_t limit_bytes = sysconf(_SC_PHYS_PAGES) / 4 * sysconf(_SC_PAGESIZE);
  if (size_bytes_ > 0) return true;
  if (all_bytes.fetch_add(size_bytes) + size_bytes > limit_bytes) {
    all_bytes -= size_bytes;
    return false;
  }
  size_bytes_ = size_bytes;
  return true;
}

void PackingShare::give_back() {
  all_bytes -= size_bytes_;
  size_bytes_ = 0;
}

bool PackedVersion::worth_packing(uint64_t version, int64_t size_bytes) {
  if (version == 0) return false;
  bool first = seen_version_ == 0, again = version == seen_version_;
  seen_version_ = version;
  bool pays = first || again;
  if (!pays && version != version_) {  // weights in training move on
    share_.give_back();
    version_ = 0;
  }
  return pays && share_.take(size_bytes);
}

Error no_memory_for_weights(int64_t size_bytes) {
  return Error{ErrorCode::kOutOfMemory,
               "The packed weights of a product (" + std::to_string(size_bytes) +
                   " bytes) do not fit in the machine's memory.",
               ""};
}

Result<std::byte*> PackedCopy::room(uint64_t version, int64_t size_bytes) {
  if (!version_.worth_packing(version, size_bytes)) {
    if (!version_.kept()) bytes_ = nullptr;
    return static_cast<std::byte*>(nullptr);
  }
  if (bytes_ == nullptr) bytes_ = allocate_aligned(size_bytes);
  if (bytes_ == nullptr) return no_memory_for_weights(size_bytes);
  return bytes_.get();
}

bool PackedCopy::is(uint64_t version, const std::vector<float>& factors) const {
  return version_.is(version) && factors == factors_;
}

void PackedCopy::set(uint64_t version, const std::vector<float>& factors) {
  version_.set(version);
  factors_ = factors;
}

}  // namespace tuff::cpu
