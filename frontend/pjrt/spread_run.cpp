// Running a program over several devices: the queue of each runs the segments of its own,
// and between them the devices meet.
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <optional>

#include "backend/storage_convert.h"
#include "frontend/pjrt/abi/table.h"
#include "frontend/pjrt/log.h"
#include "frontend/pjrt/meeting.h"
#include "frontend/pjrt/ranks/far_exchange.h"
#include "frontend/pjrt/spread.h"
#include "frontend/pjrt/trace.h"
#include "ir/support/hash.h"

namespace tuff::pjrt {

namespace {

// "27 all_reduce, 14753796 bytes": what a device exchanges after a segment.
std::string summary(const Segment& segment) {
  std::map<std::string, int> counts;
  for (const Exchange& exchange : segment.exchanges) ++counts[spmd_op_name(exchange.op)];
  std::string text;
  for (const auto& [op, count] : counts) text += fmt::format("{} {}, ", count, op);
  return text + fmt::format("{} bytes", segment.sent_bytes());
}

// One run on all devices of this process; lives until the last of them is done.
struct Launch {
  std::shared_ptr<const ExecutableInfo> info;
  Meeting meeting;
  std::optional<FarExchange> far;  // where other processes have devices, too

  Launch(std::shared_ptr<const ExecutableInfo> info, size_t num_devices)
      : info(std::move(info)), meeting(num_devices, this->info->spread->host_memory) {}

  Result<std::vector<Literal>> exchange(size_t at, size_t device, std::vector<Literal> operands) {
    std::span<const Exchange> exchanges = info->spread->program.segments[at].exchanges;
    if (far) return far->exchange(exchanges, at, device, std::move(operands), meeting);
    return meeting.exchange(exchanges, device, std::move(operands));
  }

  void fail(const Error& error) {
    meeting.fail(error);
    if (far) far->ranks().fail(error);
  }
};

// What lies in the slots of one device, from segment to segment.
class SlotMemory {
 public:
  SlotMemory(const SpreadProgram& spread, DeviceRun& run)
      : spread_(spread), run_(run), memory_(spread.program.slots.size()) {}

  Status take_arguments() {
    for (size_t i = 0; i < run_.arguments.size(); ++i) {
      TUFF_RETURN_IF_ERROR(run_.arguments[i]->ready->wait());
      memory_[i] = run_.arguments[i]->memory;
    }
    memory_[run_.arguments.size()] = run_.program->partition_id;
    return {};
  }

  Status run_segment(size_t at) {
    const Segment& segment = spread_.program.segments[at];
    if (!run_.program->segments[at]) return {};
    std::vector<BufferPtr> arguments;
    for (uint32_t slot : segment.arguments) arguments.push_back(memory_[slot]);
    TUFF_ASSIGN(std::vector<BufferPtr> outputs,
                run_program(*run_.runtime, *run_.program->segments[at], arguments));
    for (size_t i = 0; i < outputs.size(); ++i) memory_[segment.outputs[i]] = std::move(outputs[i]);
    return {};
  }

  Result<std::vector<Literal>> operands(size_t at) const {
    std::vector<Literal> operands;
    for (const Exchange& exchange : spread_.program.segments[at].exchanges) {
      TUFF_ASSIGN(Literal operand, read(exchange));
      operands.push_back(std::move(operand));
    }
    return operands;
  }

  Status take_results(size_t at, const std::vector<Literal>& results) {
    const std::vector<Exchange>& exchanges = spread_.program.segments[at].exchanges;
    for (size_t i = 0; i < exchanges.size(); ++i) {
      TUFF_ASSIGN(memory_[exchanges[i].result], write(exchanges[i].result, results[i]));
    }
    return {};
  }

  // Lets go of what nobody reads after this segment.
  void release(size_t at) {
    for (size_t slot = 0; slot < memory_.size(); ++slot) {
      if (spread_.last_use[slot] != at) continue;
      memory_[slot] = nullptr;
      if (slot < run_.arguments.size()) run_.arguments[slot] = nullptr;
    }
  }

  const BufferPtr& output(size_t i) const { return memory_[spread_.program.outputs[i]]; }

 private:
  Result<Literal> read(const Exchange& exchange) const {
    Device& device = *run_.runtime->device;
    const BufferPtr& memory = memory_[exchange.operand];
    if (is_host(device.caps())) return read_literal(device, memory, exchange.operand_type);
    Literal copy = spread_.host_memory->make(exchange.operand_type);
    TUFF_RETURN_IF_ERROR(read_tensor(device, *memory, exchange.operand_type, copy.mutable_bytes()));
    return copy;
  }

  // Taken as it lies where the device's memory is the host's; not what becomes an array of the
  // caller's, who may give it up to be written.
  Result<BufferPtr> write(uint32_t slot, const Literal& value) const {
    Device& device = *run_.runtime->device;
    bool inner = spread_.last_use[slot] < spread_.program.segments.size();
    if (inner && value.size_bytes() > 0 &&
        stored_type(value.type(), device.caps()) == value.type()) {
      auto size = static_cast<size_t>(value.size_bytes());
      TUFF_ASSIGN(BufferPtr wrapped,
                  device.wrap(std::span(value.bytes(), size), std::make_shared<Literal>(value)));
      if (wrapped) return wrapped;
    }
    return run_.runtime->write(value);
  }

  const SpreadProgram& spread_;
  DeviceRun& run_;
  std::vector<BufferPtr> memory_;
};

// The exchanges of one device in a run, one segment's after another. Those that nothing waits for
// go on beside the device's work; `slots` is read and written by the device's own thread only.
class Exchanges {
 public:
  Exchanges(std::shared_ptr<Launch> launch, size_t device, DeviceRun& run, SlotMemory& slots)
      : launch_(std::move(launch)),
        spread_(*launch_->info->spread),
        device_(device),
        run_(run),
        slots_(slots) {}

  // Waits for all that makes the slots.
  Status wait_for(const std::vector<uint32_t>& slots) {
    for (uint32_t slot : slots)
      if (std::optional<size_t> at = spread_.exchanged_by[slot]) TUFF_RETURN_IF_ERROR(finish(*at));
    return {};
  }

  // Waits for all up to this segment's.
  Status finish(size_t last) {
    while (!pending_.empty() && pending_.front().at <= last) {
      Pending first = std::move(pending_.front());
      pending_.pop_front();
      Timer clock;
      TUFF_ASSIGN(std::vector<Literal> results, first.results.get());
      waited_ms_ += clock.ms();
      TUFF_RETURN_IF_ERROR(slots_.take_results(first.at, results));
    }
    return {};
  }

  Status start(size_t at) {
    const std::vector<Exchange>& exchanges = spread_.program.segments[at].exchanges;
    if (exchanges.empty()) return {};
    std::vector<uint32_t> read;
    for (const Exchange& exchange : exchanges) read.push_back(exchange.operand);
    TUFF_RETURN_IF_ERROR(wait_for(read));
    TUFF_ASSIGN(std::vector<Literal> operands, slots_.operands(at));
    if (is_read_next(at)) {
      TUFF_RETURN_IF_ERROR(finish(at));
      Timer clock;
      TUFF_ASSIGN(std::vector<Literal> results,
                  exchange(*launch_, at, device_, *run_.runtime, std::move(operands)));
      waited_ms_ += clock.ms();
      return slots_.take_results(at, results);
    }
    auto task = std::make_shared<std::packaged_task<Result<std::vector<Literal>>()>>(
        [launch = launch_, at, device = device_, runtime = run_.runtime,
         operands = std::move(operands)]() mutable {
          return exchange(*launch, at, device, *runtime, std::move(operands));
        });
    pending_.push_back({at, task->get_future()});
    run_.runtime->exchange_queue().submit([task] { (*task)(); });
    return {};
  }

  // How long nothing was computed meanwhile.
  double waited_ms() const { return waited_ms_; }

 private:
  struct Pending {
    size_t at;
    std::future<Result<std::vector<Literal>>> results;
  };

  static Result<std::vector<Literal>> exchange(Launch& launch, size_t at, size_t device,
                                               const Runtime& runtime,
                                               std::vector<Literal> operands) {
    Timer clock;
    const int64_t begin_ns = Trace::now_ns();
    const Segment& segment = launch.info->spread->program.segments[at];
    std::vector<Literal> results;
    TUFF_RETURN_IF_ERROR(guarded_status([&]() -> Status {
      TUFF_ASSIGN(results, launch.exchange(at, device, std::move(operands)));
      return {};
    }));
    log_exchange(launch.info->name, device, segment, clock);
    if (std::shared_ptr<Trace> trace = current_trace())
      trace->add_exchange(runtime, summary(segment), begin_ns);
    return results;
  }

  // The next segment that computes waits for it, or none computes any more.
  bool is_read_next(size_t at) const {
    const std::vector<Segment>& segments = spread_.program.segments;
    size_t next = at + 1;
    while (next < segments.size() && segments[next].outputs.empty()) ++next;
    return next == segments.size() ||
           std::any_of(segments[next].arguments.begin(), segments[next].arguments.end(),
                       [&](uint32_t slot) { return spread_.exchanged_by[slot] == at; });
  }

  const std::shared_ptr<Launch> launch_;
  const SpreadProgram& spread_;
  const size_t device_;
  DeviceRun& run_;
  SlotMemory& slots_;
  std::deque<Pending> pending_;
  double waited_ms_ = 0;
};

Status run_share(const std::shared_ptr<Launch>& launch, size_t device, DeviceRun& run) {
  const SegmentedProgram& program = launch->info->spread->program;
  SlotMemory slots(*launch->info->spread, run);
  Exchanges exchanges(launch, device, run, slots);
  TUFF_RETURN_IF_ERROR(slots.take_arguments());
  Timer clock;
  for (size_t at = 0; at < program.segments.size(); ++at) {
    TUFF_RETURN_IF_ERROR(exchanges.wait_for(program.segments[at].arguments));
    TUFF_RETURN_IF_ERROR(slots.run_segment(at));
    TUFF_RETURN_IF_ERROR(exchanges.start(at));
    slots.release(at);
  }
  TUFF_RETURN_IF_ERROR(exchanges.finish(program.segments.size()));
  log_share(launch->info->name, device, clock, exchanges.waited_ms());
  // Outputs are there on all devices of the process or on none.
  TUFF_RETURN_IF_ERROR(launch->meeting.arrive());
  for (size_t i = 0; i < run.outputs.size(); ++i) run.outputs[i]->memory = slots.output(i);
  return {};
}

}  // namespace

void queue_spread(const LoadedHandle& loaded, const std::vector<DeviceRunPtr>& runs) {
  auto launch = std::make_shared<Launch>(loaded.info, runs.size());
  const SpreadProgram& spread = *loaded.info->spread;
  ClientHandle& client = *loaded.devices[0]->client;
  std::lock_guard lock(client.launching);
  if (!spread.ranks.empty()) {
    uint64_t number = hash_mix(spread.identity, client.launches[spread.identity]++);
    launch->far.emplace(client.ranks, spread.ranks, Ranks::Run{number, spread.signature},
                        spread.host_memory);
  }
  for (size_t i = 0; i < runs.size(); ++i)
    runs[i]->runtime->queue.submit([launch, device = loaded.places[i], run = runs[i]] {
      Status status = guarded_status([&] { return run_share(launch, device, *run); });
      if (!status.ok()) launch->fail(status.error());
      finish_run(*run, std::move(status));
    });
}

}  // namespace tuff::pjrt
