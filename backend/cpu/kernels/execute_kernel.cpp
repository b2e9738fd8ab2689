#include "backend/cpu/kernels/execute_kernel.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <mutex>

#include "backend/cpu/thread_pool.h"

namespace tuff::cpu {

namespace {

// The value of a slot that is known before the run, or `unknown`.
int64_t known_extent(const KernelProgram& program, std::span<const int32_t> params, uint32_t slot,
                     int64_t unknown) {
  uint32_t first_immediate = program.first_param + program.num_params;
  if (slot < program.first_param) return unknown;
  if (slot >= first_immediate) return program.slots[slot].initial;
  return params[slot - program.first_param];
}

// Roughly what one grid point takes. Measured: dispatching an instruction costs
// about 5 ns, a lane of a simple one 0.05 ns; less as native code.
double estimate_point_ns(const KernelProgram& program, std::span<const int32_t> params,
                         bool native) {
  const double instr_ns = native ? 0.5 : 5, lane_ns = native ? 0.02 : 0.05;
  constexpr size_t kMaxNest = 16;  // loops deeper inside count as often as the one around them
  double total = 0, times = 1, lanes = 1;
  std::array<double, kMaxNest> outer;
  size_t depth = 0;
  for (const Instr& instr : program.code) {
    switch (instr.code) {
      case Instr::Code::kLoopBegin:
        if (depth < kMaxNest) {
          outer[depth] = times;
          times *= static_cast<double>(known_extent(program, params, instr.in[0], 8));
        }
        ++depth;
        break;
      case Instr::Code::kLoopEnd:
        if (--depth < kMaxNest) times = outer[depth];
        break;
      case Instr::Code::kLaneBegin:
        lanes = static_cast<double>(known_extent(program, params, instr.in[0], program.lanes));
        break;
      case Instr::Code::kLaneEnd: lanes = 1; break;
      default: total += times * (instr_ns + lane_ns * lanes); break;
    }
  }
  return total;
}

// Below this a second thread costs more than it brings: waking one takes 2 us where
// it spins and up to 50 where it sleeps.
constexpr double kMinParallelNs = 20'000;

void run_points_parallel(const KernelProgram& program, std::span<const int32_t> params,
                         std::span<const BufferView> buffers, const KernelScratch& scratch,
                         bool checked, int64_t points, std::string* error) {
  SharedRange range(points, std::max<int64_t>(1, points / (scratch.threads() * 16)));
  std::mutex error_mutex;
  in_parallel(scratch.threads(), [&](int part) {
    LaneInterpreter interpreter(program, params, buffers, scratch.slots(part), scratch.thread(part),
                                checked);
    for (int64_t first, last; interpreter.error().empty() && range.take(first, last);)
      interpreter.run_points(first, last);
    if (interpreter.error().empty()) return;
    std::lock_guard lock(error_mutex);
    *error = interpreter.error();
  });
}

}  // namespace

Status KernelScratch::reserve(const KernelProgram& program) {
  int threads = max_threads();
  int64_t slots = round_up(LaneInterpreter::slot_bytes(program), 64);
  if (threads <= threads_ && slots <= slot_bytes_ && program.scratch_bytes <= kernel_bytes_)
    return {};
  // The kernel with the most slots may be another one than that with the most memory.
  slot_bytes_ = std::max(slots, slot_bytes_);
  kernel_bytes_ = std::max(program.scratch_bytes, kernel_bytes_);
  stride_bytes_ = round_up(slot_bytes_ + kernel_bytes_, 4096);
  threads_ = std::max(threads, threads_);
  memory_ = allocate_aligned(threads_ * stride_bytes_);
  if (memory_ == nullptr)
    return Error{ErrorCode::kOutOfMemory,
                 "The working memory of a kernel (" + std::to_string(threads_ * stride_bytes_) +
                     " bytes) does not fit in the machine's memory.",
                 ""};
  return {};
}

namespace {

int64_t count_points(const KernelProgram& program, std::span<const int32_t> params) {
  int64_t points = 1;
  for (uint32_t extent : program.grid_extents)
    points *= std::max<int64_t>(0, known_extent(program, params, extent, 0));
  return points;
}

}  // namespace

double estimated_ns(const KernelProgram& program, std::span<const int32_t> params) {
  return static_cast<double>(count_points(program, params)) *
         estimate_point_ns(program, params, false);
}

bool is_small_kernel(const KernelProgram& program, std::span<const int32_t> params, bool native) {
  return static_cast<double>(count_points(program, params)) *
             estimate_point_ns(program, params, native) <=
         kMinParallelNs;
}

BoundKernel::BoundKernel(const KernelProgram& program, std::span<const int32_t> params,
                         const KernelScratch& scratch, bool checked, const NativeSource& source)
    : program_(program),
      params_(params),
      scratch_(scratch),
      checked_(checked),
      source_(source),
      points_(count_points(program, params)),
      parallel_(points_ > 1 && scratch.threads() > 1 && !is_small_kernel(program, params, false)),
      run_ns_(static_cast<double>(points_) * estimate_point_ns(program, params, false)) {}

bool BoundKernel::has_native() {
  if (native_ != nullptr || source_.functions == nullptr) return native_ != nullptr;
  if (points_ > INT32_MAX) return false;  // as native code counts them
  interpreted_ns_ += run_ns_;
  if (!source_.functions->pays(interpreted_ns_, program_.code.size())) return false;
  native_ = source_.functions->find(*source_.kernel, params_);
  source_.functions = nullptr;
  if (native_ == nullptr) return false;
  parallel_ = points_ > 1 && scratch_.threads() > 1 && !is_small_kernel(program_, params_, true);
  bases_.resize(native::kFirstBase + program_.buffers.size());
  own_.reset();
  return true;
}

void BoundKernel::run_native(std::span<const BufferView> buffers) {
  for (size_t i = 0; i < buffers.size(); ++i) bases_[native::kFirstBase + i] = buffers[i].data;
  if (!parallel_) return native_->run(bases_.data(), 0, points_);
  SharedRange range(points_, std::max<int64_t>(1, points_ / (scratch_.threads() * 16)));
  in_parallel(scratch_.threads(), [&](int) {
    for (int64_t first, last; range.take(first, last);) native_->run(bases_.data(), first, last);
  });
}

Status BoundKernel::run(std::span<const BufferView> buffers) {
  if (has_native()) {
    run_native(buffers);
    return {};
  }
  std::string error;
  if (parallel_) {
    run_points_parallel(program_, params_, buffers, scratch_, checked_, points_, &error);
  } else {
    if (own_ == nullptr) {
      slots_ = std::make_unique<std::byte[]>(LaneInterpreter::slot_bytes(program_));
      own_ = std::make_unique<LaneInterpreter>(program_, params_, buffers, slots_.get(),
                                               scratch_.thread(0), checked_);
    } else {
      own_->rebind(buffers);
    }
    own_->run_points(0, points_);
    if (checked_) error = own_->error();
  }
  if (!error.empty()) return Error{ErrorCode::kRunFailed, std::move(error), program_.family};
  return {};
}

Status execute_kernel(const KernelProgram& program, std::span<const int32_t> params,
                      std::span<const BufferView> buffers, const KernelScratch& scratch,
                      bool checked) {
  return BoundKernel(program, params, scratch, checked).run(buffers);
}

}  // namespace tuff::cpu
