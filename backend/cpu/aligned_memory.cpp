#include "backend/cpu/aligned_memory.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <new>
#include <vector>

#include "backend/cpu/machine_memory.h"

namespace tuff::cpu {

namespace {

constexpr std::align_val_t kAlignment{64};
constexpr int64_t kUnit = int64_t{1} << 20;  // of the sizes of mapped blocks
constexpr int64_t kKeptShare = 32, kMostKept = int64_t{512} << 20;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr int64_t kMinMapped = INT64_MAX;  // what a sanitizer watches is the heap
#else
constexpr int64_t kMinMapped = int64_t{4} << 20;
#endif

// Null where the system has no such block.
std::byte* map_block(size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : static_cast<std::byte*>(memory);
}

// Mapped blocks that nobody uses.
class KeptBlocks {
 public:
  // Never destroyed: memory is given back while the process ends, too.
  static KeptBlocks& instance() {
    static auto* blocks = new KeptBlocks;
    return *blocks;
  }

  // One of at least `bytes` and little more, the last that was given back; or none.
  AlignedBytes take(size_t bytes) {
    std::lock_guard lock(mutex_);
    for (size_t i = blocks_.size(); i-- > 0;) {
      if (blocks_[i].bytes < bytes || blocks_[i].bytes - bytes > bytes / 8) continue;
      Block block = blocks_[i];
      blocks_.erase(blocks_.begin() + static_cast<ptrdiff_t>(i));
      kept_bytes_ -= block.bytes;
      return AlignedBytes(block.data, {block.bytes});
    }
    return nullptr;
  }

  // Those that were kept longest make room.
  void keep(std::byte* data, size_t bytes) {
    std::lock_guard lock(mutex_);
    while (!blocks_.empty() && kept_bytes_ + bytes > limit_bytes_) unmap_oldest();
    if (bytes > limit_bytes_ || blocks_.size() == blocks_.capacity()) {
      ::munmap(data, bytes);
      return;
    }
    blocks_.push_back({data, bytes});
    kept_bytes_ += bytes;
  }

  void unmap_all() {
    std::lock_guard lock(mutex_);
    while (!blocks_.empty()) unmap_oldest();
  }

 private:
  struct Block {
    std::byte* data;
    size_t bytes;
  };

  KeptBlocks()
      : limit_bytes_(
            static_cast<size_t>(std::min(kMostKept, machine_memory().total_bytes / kKeptShare))) {
    blocks_.reserve(limit_bytes_ / static_cast<size_t>(kMinMapped));
    // A child has this thread only: nobody would give the lock back there.
    ::pthread_atfork([] { instance().mutex_.lock(); }, [] { instance().mutex_.unlock(); },
                     [] { instance().mutex_.unlock(); });
  }

  void unmap_oldest() {
    ::munmap(blocks_.front().data, blocks_.front().bytes);
    kept_bytes_ -= blocks_.front().bytes;
    blocks_.erase(blocks_.begin());
  }

  const size_t limit_bytes_;
  std::mutex mutex_;
  std::vector<Block> blocks_;  // the oldest first; never grows, so that keeping allocates nothing
  size_t kept_bytes_ = 0;
};

AlignedBytes allocate_mapped(size_t bytes) try {
  KeptBlocks& blocks = KeptBlocks::instance();
  if (AlignedBytes kept = blocks.take(bytes)) return kept;
  std::byte* data = map_block(bytes);
  if (data == nullptr) {
    blocks.unmap_all();
    data = map_block(bytes);
  }
  return AlignedBytes(data, {bytes});
} catch (const std::bad_alloc&) {
  return nullptr;
}

}  // namespace

void FreeAligned::operator()(std::byte* data) const {
  if (mapped_bytes > 0)
    KeptBlocks::instance().keep(data, mapped_bytes);
  else
    ::operator delete[](data, kAlignment);
}

// Systems that overcommit grant any size and kill the process once it is touched, so
// more than the machine has is refused here.
AlignedBytes allocate_aligned(int64_t size_bytes) {
  static const int64_t physical =
      static_cast<int64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<int64_t>(sysconf(_SC_PAGESIZE));
  if (size_bytes < 0 || size_bytes > physical) return nullptr;
  if (size_bytes >= kMinMapped)
    return allocate_mapped(static_cast<size_t>(round_up(size_bytes, kUnit)));
  auto size = static_cast<size_t>(round_up(std::max<int64_t>(size_bytes, 1), 64));
  return AlignedBytes(static_cast<std::byte*>(::operator new[](size, kAlignment, std::nothrow)));
}

}  // namespace tuff::cpu
